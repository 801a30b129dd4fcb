"""What a model says in the end: its text without thinking, tools and control tokens. Pure.

In: a raw output of a reasoning, search or tool-using model, or a whole transcript. Out: the text
that may hold the final answer: the final channel, what follows the thinking, the last turn of the
assistant, without what a search or a tool returned. Thinking that does not end leaves nothing.
"""

from __future__ import annotations

import re

_THOUGHTS = "think|thinking|thoughts?|reasoning|analysis|scratchpad|inner_monologue|seed:think"
_ASIDES = (
    "reason|reflection|rationale|cot|chain_of_thought|plan|planning|explanation|critique|draft"
)
_THINKING = re.compile(
    rf"<({_THOUGHTS})(?:\s[^<>]{{0,200}})?>.*?(?:</\1\s*>|\Z)"
    rf"|<({_ASIDES})(?:\s[^<>]{{0,200}})?>.*?</\2\s*>"
    r"|<\|begin_of_thought\|>.*?(?:<\|end_of_thought\|>|\Z)"
    r"|<\|START_THINKING\|>.*?(?:<\|END_THINKING\|>|\Z)"
    r"|<\|channel>thought.*?(?:<channel\|>|\Z)"
    r"|\u25c1think\u25b7.*?(?:\u25c1/think\u25b7|\Z)"
    r"|\[THINK\].*?(?:\[/THINK\]|\Z)|<unused94>.*?(?:<unused95>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_END_OF_THINKING = re.compile(
    r"</(?:think|thinking|thought|reasoning|seed:think)\s*>|<\|end_of_thought\|>|<\|END_THINKING\|>"
    r"|\u25c1/think\u25b7|\[/THINK\]|<unused95>",
    re.IGNORECASE,
)
_CHANNEL = re.compile(
    r"<\|channel\|>(?P<name>[^<]{0,200})(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
    r"(?P<text>.*?)(?=<\|(?:end|return|call|start|channel)\|>|\Z)",
    re.DOTALL,
)
_BARE_CHANNEL = re.compile(r"assistant\s*final")
_TURN = re.compile(
    r"<\|im_start\|>\s*assistant\b|<\|start_header_id\|>\s*assistant\s*<\|end_header_id\|>"
    r"|<\|(?:assistant|Assistant)\|>|<\uff5cAssistant\uff5c>|<start_of_turn>\s*model\b|\[/INST\]"
    r"|<\|START_RESPONSE\|>|<\|turn>model\b"
)
_END_OF_TURN = re.compile(
    r"<\|im_end\|>|<\|eot_id\|>|<end_of_turn>|<turn\|>|<\|(?:user|User)\|>|<\|end\|>|<\|return\|>"
    r"|<\|END_RESPONSE\|>|<\uff5cend\u2581of\u2581sentence\uff5c>|<\|endoftext\|>|<\|end_of_text\|>"
)
_USER_TURN = re.compile(
    r"<\|im_start\|>\s*user\b|<\|start_header_id\|>\s*user\b|<\|(?:user|User)\|>|<\uff5cUser\uff5c>"
    r"|<start_of_turn>\s*user\b|\[INST\]|<\|endoftext\|>|<\|end_of_text\|>|</s>"
    r"|^#{2,3} (?:Instruction|User|Human|Input)\s*:?\s*$",
    re.MULTILINE,
)
_ROLE = re.compile(r"^(?:(?:assistant|model)[ \t]*\n\s*|(?:Assistant|AI|Bot|ChatGPT):\s+)")
_ODD_TAG = re.compile(
    r"[<\uff1c]\s{0,2}(/?)\s{0,2}((?:final[_ ]?|short[_ ]?)?answer|think|thinking"
    r"|search|information)\s{0,2}[>\uff1e]",
    re.IGNORECASE,
)
_CONTROL = re.compile(
    r"<\|(?:im_start|im_end|eot_id|endoftext|end_of_text|begin_of_text|return|end|start|call"
    r"|message|python_tag|eom_id|END_RESPONSE|START_RESPONSE|turn)\|?>|</?s>|<(?:bos|eos|pad|unk)>"
    r"|<(?:start|end)_of_turn>|<turn\|>|<end of response>|<\uff5cend\u2581of\u2581sentence\uff5c>",
    re.IGNORECASE,
)
_FOUND = (
    "information|informations|observation|observations|documents|document|search_results?|search"
    "|query|queries|tool_response|tool_responses|tool_result|tool_output|function_results?"
    "|function_response|retrieved|retrieval|context|passages?|python|execution_results?"
)
_RETRIEVED = re.compile(
    rf"<({_FOUND})(?:\s[^<>]{{0,200}})?>.*?(?:</\1\s*>|\Z)"
    r"|<\|?begin_(?:of_)?(?P<what>search|query|documents?|search_query|search_result)\|?>.*?"
    r"(?:<\|?end_(?:of_)?(?P=what)\|?>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_RESULT = re.compile(r"<result>.*?(?:</result>|\Z)", re.DOTALL | re.IGNORECASE)
_SEARCHED = re.compile(r"<(?:search|query|python|tool_call)>", re.IGNORECASE)
_OBSERVED = re.compile(
    r"^[ \t]*Observation(?:[ \t]*\d{1,3})?[ \t]*:.*?"
    r"(?=^[ \t]*(?:Thought|Action|Final Answer|Answer)\b|\Z)",
    re.DOTALL | re.MULTILINE,
)
_INLINE = re.compile(
    r"</?(?:b|strong|i|em|u|mark|span|code|tt)(?:\s+[\w-]+=[^<>]{0,100})?>", re.IGNORECASE
)
_LINE_END = re.compile(
    r"<(?:br|/?p|/?div|/?li|/?h[1-6])(?:\s+[\w-]+=[^<>]{0,100})?\s?/?>", re.IGNORECASE
)
_CDATA = re.compile(r"<!\[CDATA\[(.{0,2000}?)\]\]>", re.DOTALL)
_LONGEST = 200_000  # characters, the last ones, that may hold the final answer


def final_text(text: str) -> str:
    """Return the part of a model's output that may hold its final answer."""
    if "\uff1c" in text or "< " in text or " >" in text:
        text = _ODD_TAG.sub(r"<\1\2>", text)
    if "<|channel|>" in text:
        text = _final_channel(text)
    elif text.lstrip().startswith(("analysis", "commentary")) and "assistant" in text:
        text = _BARE_CHANNEL.split(text)[-1]
    if "<" in text or "\u25c1" in text or "[" in text:
        text = _last_turn(_THINKING.sub(" ", text))
        text = _END_OF_THINKING.split(text)[-1]
    if "<" in text:
        if _SEARCHED.search(text):
            text = _RESULT.sub(" ", text)
        text = _RETRIEVED.sub(" ", text)
    if "Observation" in text:
        text = _OBSERVED.sub("", text)
    return _ROLE.sub("", text.strip()[-_LONGEST:])


def without_control(text: str) -> str:
    """Return a text without control tokens and the mark-up of HTML. Not for JSON."""
    if "<" not in text:
        return text
    text = _INLINE.sub("", _CDATA.sub(r"\1", _CONTROL.sub(" ", text)))
    return _LINE_END.sub("\n", text)


def _final_channel(text: str) -> str:
    """Return the message of the final channel, or else the call of a tool."""
    messages = [(found["name"].strip(), found["text"]) for found in _CHANNEL.finditer(text)]
    if not messages:  # cut in the header of its only message
        return ""
    final = [message for name, message in messages if name.startswith("final")]
    calls = [message for name, message in messages if "to=" in name]
    return final[-1] if final else calls[-1] if calls else ""


def _last_turn(text: str) -> str:
    """Return the last turn of the assistant that says something, of a transcript."""
    turns = _TURN.split(text)
    for turn in reversed(turns[1:]):
        kept = _END_OF_TURN.split(turn)[0]
        if kept.strip():
            return kept
    own = _USER_TURN.split(text)[0]  # a reply that goes on with a turn of the user
    return own if own.strip() else text
