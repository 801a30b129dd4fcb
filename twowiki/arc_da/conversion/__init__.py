"""From multiple choice to direct answers: the paper's conversion as a workflow on files.

Each stage reads what the stage before wrote, leaves out questions with a named reason, and can be
run again. `workspace` holds the folder's layout, the other modules one stage each.
"""
