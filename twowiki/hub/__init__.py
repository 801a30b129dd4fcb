"""Models, data sets, metrics and demos on the hub: checks of a folder, its card, one commit.

`push.push` is the entry point; `folder_checks` decides what is sent, `model_card` writes a
model's card from the report of its run. Tokens are those of the login or the environment; no
output holds them.
"""
