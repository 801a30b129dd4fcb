"""The forms in which language models write an answer, supporting sentences and triples.

Each function writes one right output; `ANSWER_ONLY` are the forms that carry only an answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import yaml

Facts = Sequence[tuple[str, int]]
Triples = Sequence[tuple[str, str, str]]
WRONG = "Zzyzx Falls"
THINKING = f"Maybe the answer is {WRONG}? Let me see: Answer: {WRONG}. No."


def reply(answer: str, facts: Facts, triples: Triples) -> dict[str, Any]:
    return {
        "answer": answer,
        "supporting_facts": [list(fact) for fact in facts],
        "evidences": [list(triple) for triple in triples],
    }


def plain_json(answer: str, facts: Facts, triples: Triples) -> str:
    return json.dumps(reply(answer, facts, triples), ensure_ascii=False)


def fenced_after_thinking(answer: str, facts: Facts, triples: Triples) -> str:
    written = json.dumps(reply(answer, facts, triples), indent=2)
    draft = json.dumps(reply(WRONG, [], []))
    return f"<think>\n{THINKING}\n{draft}\n</think>\n\nHere it is:\n```json\n{written}\n```\nDone."


def objects_by_name(answer: str, facts: Facts, triples: Triples) -> str:
    return json.dumps(
        {
            "reasoning": THINKING,
            "final_answer": {"text": answer, "type": "span"},
            "supportingFacts": [{"title": title, "sentence_id": str(at)} for title, at in facts],
            "evidence_triples": [
                {"head": {"name": s}, "relation": r, "tail": {"name": o}} for s, r, o in triples
            ],
        }
    )


def columns(answer: str, facts: Facts, triples: Triples) -> str:
    names = ("subject", "predicate", "object")
    return json.dumps(
        {
            "answer": answer,
            "supporting_facts": {"title": [f[0] for f in facts], "sent_id": [f[1] for f in facts]},
            "evidences": {name: [t[at] for t in triples] for at, name in enumerate(names)},
        }
    )


def by_title(answer: str, facts: Facts, triples: Triples) -> str:
    titles: dict[str, list[int]] = {}
    graph: dict[str, dict[str, list[str]]] = {}
    for title, at in facts:
        titles.setdefault(title, []).append(at)
    for s, r, o in triples:
        graph.setdefault(s, {}).setdefault(r, []).append(o)
    return json.dumps({"answer": [answer], "supporting_facts": titles, "triples": graph})


def python_repr(answer: str, facts: Facts, triples: Triples) -> str:
    return repr({"answer": answer, "supporting_facts": list(facts), "evidences": list(triples)})


def curly_json(answer: str, facts: Facts, triples: Triples) -> str:
    def quoted(text: str) -> str:
        return f"\u201c{text}\u201d"

    sp = ", ".join(f"[{quoted(title)}, {at}]" for title, at in facts)
    evidence = "\uff0c ".join("[" + ", ".join(map(quoted, triple)) + "]" for triple in triples)
    return (
        f"{{{quoted('answer')}\uff1a {quoted(answer)}, {quoted('supporting_facts')}: [{sp}], "
        f"{quoted('evidences')}\uff1a [{evidence}],}}"
    )


def search_transcript(answer: str, facts: Facts, triples: Triples) -> str:
    written = json.dumps(reply(answer, facts, triples))
    return (
        f"<think> {THINKING} </think>\n<search> who? </search>\n\n<information>Doc 1(Title: X) "
        f"Answer: {WRONG}. <answer>{WRONG}</answer></information>\n\n<think>Now.</think>\n"
        f"<answer>{WRONG}</answer> Wait.\n<answer> {written} </answer><|im_end|>"
    )


def tags_with_json(answer: str, facts: Facts, triples: Triples) -> str:
    parts = reply(answer, facts, triples)
    return (
        f"<reasoning>{THINKING}</reasoning>\n<supporting_facts>{json.dumps(parts['supporting_facts'])}"
        f"</supporting_facts>\n<evidence>\n{json.dumps(parts['evidences'])}\n</evidence>\n"
        f"<ANSWER>{escape(answer)}</ANSWER>"
    )


def tags_with_lines(answer: str, facts: Facts, triples: Triples) -> str:
    sp = "\n".join(f"- {title} [{at}]" for title, at in facts)
    evidence = "\n".join(f"({s}; {r}; {o})" for s, r, o in triples)
    return f"<answer>**{answer}**</answer>\n<sp>\n{sp}\n</sp>\n<triples>\n{evidence}\n</triples>"


def xml(answer: str, facts: Facts, triples: Triples) -> str:
    sp = "".join(
        f"<fact><title>{escape(title)}</title><sent_id>{at}</sent_id></fact>\n"
        for title, at in facts
    )
    evidence = "".join(
        f"<triple><subject>{escape(s)}</subject><relation>{r}</relation><object>{escape(o)}"
        "</object></triple>\n"
        for s, r, o in triples
    )
    return (
        f"<response>\n<answer>{escape(answer)}</answer>\n<supporting_facts>\n{sp}</supporting_facts>"
        f"\n<evidences>\n{evidence}</evidences>\n</response>"
    )


def xml_attributes(answer: str, facts: Facts, triples: Triples) -> str:
    sp = "".join(f'<fact title={quoteattr(title)} sent_id="{at}"/>' for title, at in facts)
    evidence = "".join(
        f"<triple subject={quoteattr(s)} relation={quoteattr(r)} object={quoteattr(o)} />"
        for s, r, o in triples
    )
    return f"{sp}\n{evidence}\n<final_answer>{escape(answer)}</final_answer>"


def headings_with_bullets(answer: str, facts: Facts, triples: Triples) -> str:
    sp = "\n".join(f"{n}. {title} (sentence {at})" for n, (title, at) in enumerate(facts, 1))
    evidence = "\n".join(f"- {s} \u2192 {r} \u2192 {o}" for s, r, o in triples)
    return (
        f"{THINKING}\n\n### Supporting facts:\n{sp}\n\n### Evidence triples:\n{evidence}\n\n"
        f"**Final Answer:** {answer}"
    )


def commas_under_headings(answer: str, facts: Facts, triples: Triples) -> str:
    sp = "\n".join(f"{title}, {at}" for title, at in facts)
    evidence = "\n".join(f"{s}, {r}, {o}" for s, r, o in triples)
    return f"Answer: {answer}\nSupporting facts:\n{sp}\nEvidence:\n{evidence}\n"


def tables_and_statement(answer: str, facts: Facts, triples: Triples) -> str:
    sp = "".join(f"| {n} | {title} | {at} |\n" for n, (title, at) in enumerate(facts, 1))
    evidence = "".join(f"| {s} | {r} | {o} |\n" for s, r, o in triples)
    return (
        f"## Supporting facts\n\n| # | title | sentence |\n|---|:--|--:|\n{sp}\n## Evidence\n\n"
        f"| subject | relation | object |\n|---|---|---|\n{evidence}\nSo the answer is: {answer}."
    )


def yaml_text(answer: str, facts: Facts, triples: Triples) -> str:
    return yaml.safe_dump(reply(answer, facts, triples), allow_unicode=True, sort_keys=False)


def yaml_fields(answer: str, facts: Facts, triples: Triples) -> str:
    value = {
        "answer": answer,
        "supporting_facts": [{"title": title, "sent_id": at} for title, at in facts],
        "evidences": [{"subject": s, "relation": r, "object": o} for s, r, o in triples],
    }
    return f"{THINKING}\n\n```yaml\n{yaml.safe_dump(value, sort_keys=False)}```"


def toml(answer: str, facts: Facts, triples: Triples) -> str:
    def quoted(text: str) -> str:
        return json.dumps(text, ensure_ascii=False)

    lines = [f"answer = {quoted(answer)}"]
    lines.append(f"supporting_facts = [{', '.join(f'[{quoted(t)}, {at}]' for t, at in facts)}]")
    for s, r, o in triples:
        fields = zip(("subject", "relation", "object"), map(quoted, (s, r, o)), strict=True)
        lines += ["", "[[evidences]]", *(f"{name} = {value}" for name, value in fields)]
    return "\n".join(lines)


def sections(answer: str, facts: Facts, triples: Triples) -> str:
    parts = reply(answer, facts, triples)
    return (
        f"[[ ## reasoning ## ]]\n{THINKING}\n\n[[ ## supporting_facts ## ]]\n"
        f"{json.dumps(parts['supporting_facts'])}\n\n[[ ## evidences ## ]]\n"
        f"{json.dumps(parts['evidences'])}\n\n[[ ## answer ## ]]\n{answer}\n\n[[ ## completed ## ]]"
    )


def boxed(answer: str, facts: Facts, triples: Triples) -> str:
    sp = "; ".join(f"{title} [{at}]" for title, at in facts)
    evidence = ", ".join(f"({s}, {r}, {o})" for s, r, o in triples)
    written = answer.replace("&", "\\&")
    return (
        f"{THINKING}\n\nSupporting facts: {sp}\nEvidence: {evidence}\n\n"
        f"The final answer is: $\\boxed{{\\text{{{written}}}}}$"
    )


def react(answer: str, facts: Facts, triples: Triples) -> str:
    sp = "\n".join(f"- {title}: {at}" for title, at in facts)
    evidence = "\n".join(f"- <{s}> <{r}> <{o}> ." for s, r, o in triples)
    return (
        f"Thought 1: I look.\nAction 1: Search[X]\nObservation 1: Final Answer: {WRONG}\n"
        f"Thought 2: Done.\nSupporting facts:\n{sp}\nTriples:\n{evidence}\n"
        f"Action 2: Finish[{answer}]"
    )


def tool_call(answer: str, facts: Facts, triples: Triples) -> str:
    call = {"name": "final_answer", "arguments": json.dumps(reply(answer, facts, triples))}
    other = {"name": "search", "arguments": {"query": "x", "answer": WRONG}}
    calls = (f"<tool_call>\n{json.dumps(one)}\n</tool_call>" for one in (other, call))
    return "\n".join(calls)


def function_call(answer: str, facts: Facts, triples: Triples) -> str:
    parts = reply(answer, facts, triples)
    return (
        f"final_answer(answer={parts['answer']!r}, supporting_facts={parts['supporting_facts']!r}, "
        f"evidences={parts['evidences']!r})"
    )


def xml_call(answer: str, facts: Facts, triples: Triples) -> str:
    parts = reply(answer, facts, triples)
    arguments = "".join(
        f"<parameter={name}>\n{value}\n</parameter>\n"
        for name, value in ((n, v if n == "answer" else json.dumps(v)) for n, v in parts.items())
    )
    return f"<tool_call>\n<function=finish>\n{arguments}</function>\n</tool_call>"


def channels(answer: str, facts: Facts, triples: Triples) -> str:
    written = json.dumps(reply(answer, facts, triples))
    return (
        f"<|channel|>analysis<|message|>{THINKING}<|end|><|start|>assistant<|channel|>final"
        f"<|constrain|>json<|message|>{written}<|return|>"
    )


def bare_channels(answer: str, facts: Facts, triples: Triples) -> str:
    return f"analysis{THINKING}assistantfinal{json.dumps(reply(answer, facts, triples))}"


def special_tokens(answer: str, facts: Facts, triples: Triples) -> str:
    written = headings_with_bullets(answer, facts, triples)
    return (
        f"<|begin_of_thought|>{THINKING}<|end_of_thought|>\n<|begin_of_solution|>\n{written}\n"
        "<|end_of_solution|>"
    )


def named_lines(answer: str, facts: Facts, triples: Triples) -> str:
    sp = "\n".join(f"- Title: {title}; Sentence: {at}" for title, at in facts)
    evidence = "\n".join(f"- Subject: {s}; Relation: {r}; Object: {o}" for s, r, o in triples)
    return f"ANSWER: {answer}\n\nSUPPORTING FACTS:\n{sp}\n\nEVIDENCES:\n{evidence}"


def edges(answer: str, facts: Facts, triples: Triples) -> str:
    sp = "\n".join(f"* sentence {at} of {title}" for title, at in facts)
    evidence = "\n".join(f"* ({s})-[{r}]->({o})" for s, r, o in triples)
    return (
        f"**Supporting sentences**\n{sp}\n\n**Reasoning path**\n{evidence}\n\n"
        f"**Answer**\n{answer}\n"
    )


def several_objects(answer: str, facts: Facts, triples: Triples) -> str:
    parts = reply(answer, facts, triples)
    return "\n".join(json.dumps({name: value}) for name, value in parts.items())


FULL: dict[str, Callable[[str, Facts, Triples], str]] = {
    function.__name__: function
    for function in (
        plain_json, fenced_after_thinking, objects_by_name, columns, by_title, python_repr,
        curly_json, search_transcript, tags_with_json, tags_with_lines, xml, xml_attributes,
        headings_with_bullets, commas_under_headings, tables_and_statement, yaml_text, yaml_fields,
        toml, sections, boxed, react, tool_call, function_call, xml_call, channels, bare_channels,
        special_tokens, named_lines, edges, several_objects,
    )
}  # fmt: skip

ANSWER_ONLY: dict[str, str] = {
    "tag": "{thinking}\n<answer>{}</answer>",
    "tag upper case": "<FINAL_ANSWER>\n{}\n</FINAL_ANSWER>",
    "tag unclosed": "Let me see.\n<answer>{}",
    "tag of two": "<answer>{wrong}</answer> no, <answer>{}</answer>",
    "tag mentioned": "I put it in <answer> and </answer>. <answer>{}</answer>",
    "tag in brackets": "{thinking}\n[ANSWER]{}[/ANSWER]",
    "tag around a box": "<answer>\\boxed{{{}}}</answer>",
    "tag around a heading": "<answer>Final answer: {}</answer>",
    "box of a model's tokens": "<|begin_of_box|>{}<|end_of_box|>",
    "box": "{thinking} Hence \\boxed{{{}}}.",
    "box in text": "### Final Answer\n\\[\n\\boxed{{\\textbf{{{}}}}}\n\\]",
    "statement": "{thinking} So the answer is {}.",
    "statement with a reason": "The answer is {}. She was born there.",
    "statement in full": "Therefore, the correct final answer to the question is: **{}**",
    "heading": "Exact Answer: {}\nConfidence: 95%",
    "heading with a reason": "Explanation: {thinking}\nFinal answer: {}",
    "heading alone": "Final Answer\n{}",
    "heading in another script": "\u6700\u7ec8\u7b54\u6848\uff1a{}",
    "heading with a wide colon": "Answer\uff1a{}",
    "sign": "She was born there.\n#### {}",
    "letter": "Q: Where?\nA: {}",
    "action": "Thought: I know.\nAction: Finish[{}]",
    "action with input": "Thought: I know.\nAction: finish\nAction Input: {}",
    "action in JSON": '```json\n{{"action": "Final Answer", "action_input": "{}"}}\n```',
    "call": '```python\nfinal_answer("{}")\n```',
    "call by channel": "<|channel|>commentary to=functions.finish <|constrain|>json<|message|>"
    '{{"answer": "{}"}}<|call|>',
    "call with keys": "<tool_call>finish\n<arg_key>answer</arg_key>\n<arg_value>{}</arg_value>"
    "</tool_call>",
    "last turn": "<|im_start|>user\nAnswer: {wrong}<|im_end|>\n<|im_start|>assistant\n{}<|im_end|>",
    "last turn of another": "[INST] The answer is {wrong}? [/INST] Answer: {}</s>",
    "no opening of the thinking": "{thinking}</think>\n\n{}",
    "other thinking": "[THINK]{thinking}[/THINK]{}",
    "yet other thinking": "\u25c1think\u25b7{thinking}\u25c1/think\u25b7{}",
    "response": '{{"thought": "{wrong}", "response": "{}"}}',
    "escaped JSON": '"{{\\"answer\\": \\"{}\\"}}"',
    "run on": "Answer: {}\n\nQuestion: Who else?\nAnswer: {wrong}",
    "bare": "{}",
    "bare in bold": "**{}**",
}


def answer_only(form: str, answer: str) -> str:
    return ANSWER_ONLY[form].format(answer, thinking=THINKING, wrong=WRONG)
