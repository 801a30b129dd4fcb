"""Forms of answers, facts and triples that models write now and then, each read as meant."""

# ruff: noqa: E501
from __future__ import annotations

import pytest

from tests.joint_files import FACTS, TRIPLES
from twowiki.llm.parsing import parse_llm_output, parse_science_answer

ANSWERS = [
    '"answer": "Brinmoor", "supporting_facts": []}',
    "Brinmoor</answer>",
    "I think so.</think>Brinmoor</answer>",
    "<answer><![CDATA[Brinmoor]]></answer>",
    '{"type": "answer", "value": "Brinmoor"}',
    'The answer to the question "Where was she born?" is Brinmoor.',
    "Therefore, Brinmoor is the answer.",
    "Hence **Brinmoor** is the final answer.",
    "Answer - Brinmoor",
    "Final answer \u2014 Brinmoor",
    "Answer is: Brinmoor",
    "\u2705 Final Answer: Brinmoor",
    "> **Answer:** `Brinmoor`",
    "Answer: [Brinmoor]",
    "The answer is [[Brinmoor]].",
    '<answer>["Brinmoor"]</answer>',
    "answer: |\n  Brinmoor\n",
    "answer: >-\n  Brinmoor",
    "<b>Answer:</b> Brinmoor",
    "<p><strong>Final answer</strong>: Brinmoor</p>",
    "ANSWER=Brinmoor",
    "\\[ \\boxed{\\text{Brinmoor}} \\]",
    "$$\\boxed{Brinmoor}$$",
    "The final answer is: $\\boxed{\\text{Brinmoor}}$. I hope it is correct.",
    "1. Answer: Brinmoor\n2. Confidence: high",
    "(Answer: Brinmoor)",
    "Reasoning: she was born there.\nAnswer: Brinmoor",
    '{"answer": {"value": "Brinmoor"}}',
    '{"output": {"final": {"answer": "Brinmoor"}}}',
    '{"FINAL ANSWER": "Brinmoor"}',
    '[{"answer": "Brinmoor"}]',
    "{answer: Brinmoor}",
    "{'answer': 'Brinmoor',}",
    '{"answer": "Brinmoor" // sure\n}',
    "<Answer>: Brinmoor <end of response>",
    "<response>Brinmoor</response>",
    "<result>Brinmoor</result>",
    "<output>\nBrinmoor\n</output>",
    "<solution>Brinmoor</solution>",
    "**Brinmoor**",
    "Answer\n------\nBrinmoor",
    "# Answer\n\nBrinmoor",
    "Answer:\n\n> Brinmoor",
    "Answer:\n```\nBrinmoor\n```",
    'final_answer("Brinmoor")',
    'Finish["Brinmoor"]',
    'finish(answer="Brinmoor")',
    "submit_answer(answer='Brinmoor')",
    '<function_calls><invoke name="final_answer"><parameter name="answer">Brinmoor</parameter></invoke></function_calls>',
    '[TOOL_CALLS][{"name": "final_answer", "arguments": {"answer": "Brinmoor"}}]',
    '[final_answer(answer="Brinmoor")]',
    '{"tool_calls":[{"function":{"name":"final_answer","arguments":"{\\"answer\\": \\"Brinmoor\\"}"}}]}',
    '<|python_tag|>final_answer.call(answer="Brinmoor")',
    '<|tool_call|>{"name":"finish","arguments":{"answer":"Brinmoor"}}',
    "So the answer is: Brinmoor",
    "so the answer is Brinmoor",
    "My final answer: Brinmoor",
    'The correct answer is "Brinmoor".',
    "The answer is: **Brinmoor**.",
    "I conclude that the answer is Brinmoor.",
    "The answer would be Brinmoor",
    "Answer: Brinmoor.\n\nExplanation: She was born there.",
    "Short answer: Brinmoor",
    "Direct answer: Brinmoor",
    "A: Brinmoor",
    "\u6700\u7ec8\u7b54\u6848\uff1aBrinmoor",
    "\u56de\u7b54\uff1aBrinmoor",
    "R\xe9ponse : Brinmoor",
    "Antwort: Brinmoor",
    "Respuesta: Brinmoor",
    "[ANSWER]Brinmoor[/ANSWER]",
    "<<Brinmoor>>",
    "<final>Brinmoor</final>",
    "<ans>Brinmoor</ans>",
    "<|answer|>Brinmoor<|/answer|>",
    "<|begin_of_answer|>Brinmoor<|end_of_answer|>",
    "<|answer_start|>Brinmoor<|answer_end|>",
    "[BEGIN ANSWER]Brinmoor[END ANSWER]",
    "### Response:\nBrinmoor",
    "Step 1: x.\nStep 2: y.\nFinal: Brinmoor",
    '{"answer":["Brinmoor"]}',
    '{"answers":["Brinmoor"]}',
    '{"answer_text":"Brinmoor"}',
    '{"predicted_answer":"Brinmoor"}',
    '{"data":{"answer":"Brinmoor"}}',
    '"Brinmoor"',
    "```\nBrinmoor\n```",
    "```text\nBrinmoor\n```",
    '```json\n"Brinmoor"\n```',
    "| Answer | Brinmoor |",
    "Answer:Brinmoor",
    "Answer :Brinmoor",
    "answer\tBrinmoor",
    "<think>\n\n</think>\n\nBrinmoor",
    "Okay.\n<answer>\nBrinmoor\n</answer>\n<confidence>0.9</confidence>",
    "Final Answer: The final answer is $Brinmoor$. I hope it is correct.",
    "<answer>The answer is Brinmoor.</answer>",
    "<answer>Brinmoor",
    '{"answer": "Brinmoor"',
    "Answer: Brinmoor<|im_end|>",
    "Answer: Brinmoor</s>",
    '{"answer":"Brinmoor"}<|eot_id|>',
    "<output><answer>Brinmoor</answer></output>",
    "{\"answer\": 'Brinmoor'}",
    '{\\"answer\\": \\"Brinmoor\\"}',
    'json\n{"answer": "Brinmoor"}',
    'JSON: {"answer": "Brinmoor"}',
    '{{"answer": "Brinmoor"}}',
    'final_answer = "Brinmoor"',
    "ANSWER:\nBrinmoor\nEND",
    "=== ANSWER ===\nBrinmoor",
    "--- Final Answer ---\nBrinmoor",
    "Answer: <b>Brinmoor</b>",
    "Answer: <Brinmoor>",
    "Answer: {Brinmoor}",
    '<answer>{"text": "Brinmoor"}</answer>',
    "<answer>Answer: Brinmoor</answer>",
    "Thus: \\(\\boxed{Brinmoor}\\)",
    "\\boxed{\\textbf{Brinmoor}}",
    "\\boxed{\\mathrm{Brinmoor}}",
    '\\boxed{"Brinmoor"}',
    "\\boxed{Brinmoor.}",
    "boxed{Brinmoor}",
    "\\fbox{Brinmoor}",
    "\\framebox{Brinmoor}",
    "Final answer \u2192 Brinmoor",
    "answer => Brinmoor",
    "Hence, final answer is Brinmoor.",
    "Final Answer: Brinmoor | Confidence: 95",
    "Final Answer: Brinmoor (confidence: 0.9)",
    "Answer: Brinmoor [1][2]",
    "<answer>Brinmoor [Doc 2]</answer>",
    "**Final answer:** **Brinmoor** (see paragraph 3)",
    "<answer>Brinmoor<answer>",
    "<answer> Brinmoor <\\answer>",
    "answer>Brinmoor</answer>",
    "\uff1canswer\uff1eBrinmoor\uff1c/answer\uff1e",
    "< answer >Brinmoor< / answer >",
    "Answer: Brinmoor<|user|>thanks",
    "Answer: Brinmoor\n### Instruction:\nnext",
    "Brinmoor\n\nQuestion: Who was she?\nAnswer: Oru",
    "Brinmoor\n\nExplanation: her mother lived there.",
    "Final Result: Brinmoor",
    "Output: Brinmoor",
    "[Final Answer] Brinmoor",
    "**[Answer]** Brinmoor",
    "\u3010Answer\u3011Brinmoor",
    "\u300cBrinmoor\u300d",
    "Action: Finish(Brinmoor)",
    "\\boxed{\\text{Brinmoor}",
    "$\\text{Brinmoor}$",
    "\u2705 **Brinmoor**",
    "Answer:\u200bBrinmoor",
    "The final answer is:\n\n**Brinmoor**",
    '{"answer": "<think>Oru?</think>Brinmoor"}',
    '{"answer": "<think>Oru?</think><answer>Brinmoor</answer>"}',
]
# a line that goes on: the name, or yes or no, is the answer
WITH_REASONS = {
    "The answer is **Brinmoor**, because her mother was born there.": "Brinmoor",
    "The answer is Brinmoor, since Dessa was born there.": "Brinmoor",
    "The answer is Brinmoor because she was born there.": "Brinmoor",
    "Answer: Brinmoor. Dessa Orrel was born there.": "Brinmoor",
    "Answer: **Brinmoor** - her place of birth": "Brinmoor",
    "Answer: Yes - both are poets.": "Yes",
    "Answer: yes (both are poets)": "yes",
    "So the answer is: no, they were not.": "no",
    "No. Tavik is a poet.": "No",
    "Answer: Yes, Giorgio": "Yes, Giorgio",
    "Answer: No, No, Nanette": "No, No, Nanette",
    "The answer is Stop! Or My Mom Will Shoot.": "Stop! Or My Mom Will Shoot",
    "The answer is Situation Hopeless... But Not Serious.": "Situation Hopeless... But Not Serious",
    "Answer: I Know Who Killed Me": "I Know Who Killed Me",
    'The answer is "Cav. Orrel".': "Cav. Orrel",
    "\\boxed{5 \\text{ March } 1907}": "5 March 1907",
}
LINES_OF_TRIPLES = [
    "Evidence:\nsubject,relation,object\nTavik Orrel,mother,Dessa Orrel\nDessa Orrel,place of birth,Brinmoor",
    "Evidence:\nsubject | relation | object\nTavik Orrel | mother | Dessa Orrel\nDessa Orrel | place of birth | Brinmoor",
    'Evidence:\n"Tavik Orrel","mother","Dessa Orrel"\n"Dessa Orrel","place of birth","Brinmoor"',
    "Evidence:\n```mermaid\ngraph TD\nA[Tavik Orrel] -->|mother| B[Dessa Orrel]\nB[Dessa Orrel] -->|place of birth| C[Brinmoor]\n```",
    'Evidence:\n"Tavik Orrel" -> "Dessa Orrel" [label="mother"];\n"Dessa Orrel" -> "Brinmoor" [label="place of birth"];',
    "Triples:\nTavik Orrel --mother--> Dessa Orrel\nDessa Orrel --place of birth--> Brinmoor",
    "Triples:\nTavik Orrel \u2014mother\u2192 Dessa Orrel\nDessa Orrel \u2014place of birth\u2192 Brinmoor",
    "Triples: <Tavik Orrel, mother, Dessa Orrel>, <Dessa Orrel, place of birth, Brinmoor>",
    "Triples: [Tavik Orrel, mother, Dessa Orrel]; [Dessa Orrel, place of birth, Brinmoor]",
    "Triples: (Tavik Orrel, mother, Dessa Orrel) (Dessa Orrel, place of birth, Brinmoor)",
    "Triples: Tavik Orrel -> mother -> Dessa Orrel -> place of birth -> Brinmoor",
    "Triples:\n1) Tavik Orrel; mother; Dessa Orrel\n2) Dessa Orrel; place of birth; Brinmoor",
    "Triples:\n- Subject: Tavik Orrel\n  Relation: mother\n  Object: Dessa Orrel\n- Subject: Dessa Orrel\n  Relation: place of birth\n  Object: Brinmoor",
    'Triples:\n("Tavik Orrel", "mother", "Dessa Orrel")\n("Dessa Orrel", "place of birth", "Brinmoor")',
    "Triples:\n['Tavik Orrel', 'mother', 'Dessa Orrel'],\n['Dessa Orrel', 'place of birth', 'Brinmoor']",
    'Triples:\n{"subject": "Tavik Orrel", "relation": "mother", "object": "Dessa Orrel"}\n{"subject": "Dessa Orrel", "relation": "place of birth", "object": "Brinmoor"}',
    "Triples:\nmother(Tavik Orrel, Dessa Orrel)\nplace_of_birth(Dessa Orrel, Brinmoor)",
    "Triples:\nStep 1: (Tavik Orrel, mother, Dessa Orrel)\nStep 2: (Dessa Orrel, place of birth, Brinmoor)",
    "Triples:\n* **Tavik Orrel** | *mother* | **Dessa Orrel**\n* **Dessa Orrel** | *place of birth* | **Brinmoor**",
    "Triples:\n(Tavik Orrel) --[mother]--> (Dessa Orrel)\n(Dessa Orrel) --[place of birth]--> (Brinmoor)",
    "Triples:\n<triple>Tavik Orrel | mother | Dessa Orrel</triple>\n<triple>Dessa Orrel | place of birth | Brinmoor</triple>",
    "Triples:\nTavik Orrel <SEP> mother <SEP> Dessa Orrel\nDessa Orrel <SEP> place of birth <SEP> Brinmoor",
    "Triples:\n(Tavik Orrel<|>mother<|>Dessa Orrel)##\n(Dessa Orrel<|>place of birth<|>Brinmoor)",
    "Triples:\n1. Tavik Orrel - mother - Dessa Orrel\n2. Dessa Orrel - place of birth - Brinmoor",
    "Triples:\nhead: Tavik Orrel, relation: mother, tail: Dessa Orrel\nhead: Dessa Orrel, relation: place of birth, tail: Brinmoor",
    "Triples:\n(s=Tavik Orrel, r=mother, o=Dessa Orrel)\n(s=Dessa Orrel, r=place of birth, o=Brinmoor)",
    "Triples:\n| Subject | Relation | Object |\n| :-- | :-- | :-- |\n| Tavik Orrel | mother | Dessa Orrel |\n| Dessa Orrel | place of birth | Brinmoor |",
    "Triples:\n`Tavik Orrel` \u2014 `mother` \u2014 `Dessa Orrel`\n`Dessa Orrel` \u2014 `place of birth` \u2014 `Brinmoor`",
    "Triples:\n\u27e8Tavik Orrel, mother, Dessa Orrel\u27e9\n\u27e8Dessa Orrel, place of birth, Brinmoor\u27e9",
    "Triples:\nTavik Orrel >> mother >> Dessa Orrel\nDessa Orrel : place of birth : Brinmoor",
    "Triples:\n(Tavik Orrel)-[:MOTHER]->(Dessa Orrel)\n(Dessa Orrel)-[:PLACE_OF_BIRTH]->(Brinmoor)",
    "Triples:\nT1: (Tavik Orrel, mother, Dessa Orrel)\n(2) (Dessa Orrel, place of birth, Brinmoor)",
    "Triples:\nTavik Orrel [mother] Dessa Orrel\nDessa Orrel [place of birth] Brinmoor",
    "Evidence:\n- Tavik Orrel's mother is Dessa Orrel.\n- The place of birth of Dessa Orrel is Brinmoor.",
    "Triples:\n1. Subject: Tavik Orrel\n   Relation: mother\n   Object: Dessa Orrel\n2. Subject: Dessa Orrel\n   Relation: place of birth\n   Object: Brinmoor",
    '{"triples": [["Tavik Orrel", "mother", "Dessa Orrel", 0.9], [2, "Dessa Orrel", "place of birth", "Brinmoor"]]}',
    '{"evidences": {"subjects": ["Tavik Orrel", "Dessa Orrel"], "relations": ["mother", "place of birth"], "objects": ["Dessa Orrel", "Brinmoor"]}}',
    '{"evidence": {"triples": [["Tavik Orrel", "mother", "Dessa Orrel"], ["Dessa Orrel", "place of birth", "Brinmoor"]]}}',
    "Triples:\nTavik Orrel \u279c mother \u279c Dessa Orrel\nDessa Orrel \u279c place of birth \u279c Brinmoor",
    "Triples:\nTavik Orrel \u2192 [mother] \u2192 Dessa Orrel\nDessa Orrel \u2192 [place of birth] \u2192 Brinmoor",
]
LINES_OF_FACTS = [
    "(Tavik Orrel, 0), (Dessa Orrel, 1)",
    "Tavik Orrel [0], Dessa Orrel [1]",
    "Tavik Orrel (0), Dessa Orrel (1)",
    "Tavik Orrel (0) and Dessa Orrel (1)",
    "[Tavik Orrel][0], [Dessa Orrel][1]",
    "Tavik Orrel: 0; Dessa Orrel: 1",
    "\n- Paragraph: Tavik Orrel | Sentence: 0\n- Paragraph: Dessa Orrel | Sentence: 1",
    "\n[1] Tavik Orrel, sentence 0\n[2] Dessa Orrel, sentence 1",
    "\n- Paragraph 3: Tavik Orrel, sentence 0\n- Doc 2(Title: Dessa Orrel), sentence 1",
    '\n- Paragraph "Tavik Orrel", sentence 0\n- Paragraph "Dessa Orrel", sentence 1',
    "\n1. Title: Tavik Orrel\n   Sentence: 0\n2. Title: Dessa Orrel\n   Sentence: 1",
    "'Tavik Orrel' 0; 'Dessa Orrel' 1",
    "\nS0 of Tavik Orrel\nTavik Orrel | 0 | He was a runner.\nDessa Orrel / 1",
    '\n- "Tavik Orrel" (sentence 0): "Tavik Orrel was a runner, the son of Dessa Orrel."\n- "Dessa Orrel" (sentence 1): "She was born in Brinmoor."',
    "\n- Tavik Orrel, sentence 0: Tavik Orrel was a runner.\n- Dessa Orrel, sentence 1: She was born in Brinmoor.",
    "\n- Tavik Orrel[0] - Tavik Orrel was a runner\n- Dessa Orrel[1] - She was born",
    "\n| title | sent_id |\n|---|---|\n| Tavik Orrel | 0 |\n| Dessa Orrel | 1 |",
    "\ntitle,sent_id\nTavik Orrel,0\nDessa Orrel,1",
    "\nTavik Orrel#0\nDessa Orrel#1",
    "\nTavik Orrel_0\nDessa Orrel_1",
    "\nTavik Orrel (sent_id=0)\nDessa Orrel (sent_id=1)",
    "\n- title: Tavik Orrel\n  sent_id: 0\n- title: Dessa Orrel\n  sent_id: 1",
    '\n{"title": "Tavik Orrel", "sent_id": 0}\n{"title": "Dessa Orrel", "sent_id": 1}',
    '\n["Tavik Orrel", 0]\n["Dessa Orrel", 1]',
    "\nSentence 0 from Tavik Orrel\nSentence 1 from Dessa Orrel",
    "\n- Tavik Orrel \u2192 0\n- Dessa Orrel \u2192 1",
    "\n- [Tavik Orrel, 0]\n- [Dessa Orrel, 1]",
    "\n1. Tavik Orrel - Sentence 0\n2. Dessa Orrel - Sentence 1",
    "\n* Tavik Orrel, S0\n* Dessa Orrel, S1",
    "\n- Tavik Orrel @ 0\n- Dessa Orrel @ 1",
    "\n- **Tavik Orrel** (sentence 0)\n- **Dessa Orrel** (sentence 1)",
    "Tavik Orrel, 0 | Dessa Orrel, 1",
    "<Tavik Orrel, 0>, <Dessa Orrel, 1>",
]


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_in_an_odd_form(text: str) -> None:
    found = parse_llm_output(text)
    assert (found.answer, found.unread) == ("Brinmoor", ())
    assert parse_science_answer(text) == "Brinmoor"


@pytest.mark.parametrize("text", WITH_REASONS)
def test_a_line_that_goes_on_gives_its_answer(text: str) -> None:
    found = parse_llm_output(text)
    assert (found.answer, found.unread) == (WITH_REASONS[text], ())


def test_an_answer_to_a_science_question_keeps_its_reason() -> None:
    text = "No, because it is not contagious."
    assert parse_science_answer(f"Answer: {text}") == text[:-1]


def test_sections_of_one_line() -> None:
    found = parse_llm_output(
        "Answer: Brinmoor || Supporting facts: Tavik Orrel, 0; Dessa Orrel, 1 || Evidence: "
        "Tavik Orrel, mother, Dessa Orrel; Dessa Orrel, place of birth, Brinmoor"
    )
    assert (found.answer, found.unread) == ("Brinmoor", ())
    assert found.facts == [tuple(fact) for fact in FACTS]
    assert found.triples == [tuple(triple) for triple in TRIPLES]


@pytest.mark.parametrize("text", LINES_OF_TRIPLES)
def test_triples_in_an_odd_form(text: str) -> None:
    found = parse_llm_output(f"Answer: Brinmoor\n{text}")
    assert found.triples == [tuple(triple) for triple in TRIPLES]
    assert (found.answer, found.unread) == ("Brinmoor", ())


@pytest.mark.parametrize("text", LINES_OF_FACTS)
def test_facts_in_an_odd_form(text: str) -> None:
    found = parse_llm_output(f"Answer: Brinmoor\nSupporting facts: {text}")
    assert found.facts == [tuple(fact) for fact in FACTS]
    assert (found.answer, found.unread) == ("Brinmoor", ())
