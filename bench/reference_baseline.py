"""The published baseline's algorithm, written from its description, as a yardstick for speed.

It computes what `TwoWikiBaselineForMultihopQA` computes in reproduce settings, the way the
authors' code does: packed GRUs, sentence vectors by products with dense maps, and a span search
over the whole square of starts and ends. `tests/bench/test_bench_reference.py` holds it to our
model.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy, cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

VERY_LOW = 1e30


class PackedGRU(nn.Module):
    """A bidirectional GRU with a learned initial state over a packed batch."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.rnns = nn.ModuleList([nn.GRU(width, hidden, bidirectional=True, batch_first=True)])
        self.init_hidden = nn.ParameterList([nn.Parameter(torch.zeros(2, 1, hidden))])

    def forward(self, inputs: Tensor, lengths: Tensor | None = None, last: bool = False) -> Tensor:
        """Give the states (B, T, 2H), or with `last` the last ones of both directions."""
        start = self.init_hidden[0].expand(-1, inputs.size(0), -1).contiguous()
        if lengths is None:
            states, final = self.rnns[0](inputs, start)
        else:
            packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
            states, final = self.rnns[0](packed, start)
            states, _ = pad_packed_sequence(states, batch_first=True, total_length=inputs.size(1))
        return final.transpose(0, 1).flatten(1) if last else states


class SquareAttention(nn.Module):
    """Bidirectional attention with arithmetic masks."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.input_linear = nn.Linear(width, 1, bias=False)
        self.memory_linear = nn.Linear(width, 1, bias=False)
        self.dot_scale = nn.Parameter(torch.empty(width).uniform_(width**-0.5, 1))

    def forward(self, inputs: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Give (B, T, 4D)."""
        scores = (
            self.input_linear(inputs)
            + self.memory_linear(memory).transpose(1, 2)
            + torch.bmm(inputs * self.dot_scale, memory.transpose(1, 2))
            - VERY_LOW * (1 - mask.unsqueeze(1))
        )
        attended = torch.bmm(scores.softmax(dim=-1), memory)
        weights = scores.max(dim=-1)[0].softmax(dim=-1).unsqueeze(1)
        summary = torch.bmm(weights, inputs)
        return torch.cat([inputs, attended, inputs * attended, summary * attended], dim=-1)


class ReferenceBaseline(nn.Module):
    """The published model; parameter names are those of its checkpoints."""

    def __init__(
        self,
        words: int,
        characters: int,
        *,
        relations: int = 38,
        glove: int = 300,
        char_dim: int = 8,
        char_hidden: int = 100,
        hidden: int = 80,
        relation_dim: int = 100,
    ) -> None:
        super().__init__()
        states = 2 * hidden
        self.word_emb = nn.Embedding(words, glove, padding_idx=0)
        self.word_emb.weight.requires_grad_(False)
        self.char_emb = nn.Embedding(characters, char_dim)
        self.char_cnn = nn.Conv1d(char_dim, char_hidden, 5)
        self.relation_emb = nn.Embedding(relations, relation_dim)
        widths = {
            "rnn": glove + char_hidden,
            "rnn_relation": states,
            "rnn_2": hidden,
            "rnn_sp": hidden,
            "rnn_relation_2": relation_dim,
            "rnn_relation_3": hidden,
            "rnn_subject_start": states,
            "rnn_subject_end": states,
            "rnn_object_start": states,
            "rnn_object_end": states,
            "rnn_start": hidden + states,
            "rnn_end": hidden + states,
            "rnn_type": hidden + states,
        }
        for name, width in widths.items():
            self.add_module(name, PackedGRU(width, hidden))
        for name in ("qc_att", "self_att", "rs_att"):
            self.add_module(name, SquareAttention(states))
        for name in ("linear_1", "linear_2", "linear_rs_att"):
            self.add_module(name, nn.Sequential(nn.Linear(4 * states, hidden), nn.ReLU()))
        heads = {"sp": 1, "start": 1, "end": 1, "type": 3, "relation": relations}
        pointers = ("subject_start", "subject_end", "object_start", "object_end")
        for name, width in {**heads, **dict.fromkeys(pointers, relations)}.items():
            self.add_module(f"linear_{name}", nn.Linear(states, width))

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Give every head's logits."""
        part = self.get_submodule
        context, question = batch["context_idxs"], batch["ques_idxs"]
        mask, question_mask = (context > 0).float(), (question > 0).float()
        lengths, question_lengths = mask.sum(1).long().cpu(), question_mask.sum(1).long().cpu()
        maps = dense_maps(batch["sentence_bounds"], context.size(1)).to(context.device)
        encoded = part("rnn")(self._words(context, batch["context_char_idxs"]), lengths)
        question_states = part("rnn")(
            self._words(question, batch["ques_char_idxs"]), question_lengths
        )
        relation_logits = self.linear_relation(
            part("rnn_relation")(question_states, question_lengths, last=True)
        )
        active = (relation_logits.sigmoid() >= 0.5).float()
        output = self.linear_1(part("qc_att")(encoded, question_states, question_mask))
        inner = part("rnn_2")(output, lengths)
        output = output + self.linear_2(part("self_att")(inner, inner, mask))

        states = part("rnn_sp")(output, lengths)
        hidden = states.size(-1) // 2
        firsts = torch.bmm(maps[0].transpose(1, 2), states[..., hidden:])
        lasts = torch.bmm(maps[1].transpose(1, 2), states[..., :hidden])
        sentences = torch.cat([firsts, lasts], dim=-1)
        support = self.linear_sp(sentences)
        spread = torch.bmm(maps[2], sentences)

        memory = self.relation_emb.weight.unsqueeze(0) * active.unsqueeze(-1)
        memory = part("rnn_relation_2")(memory)
        chain = self.linear_rs_att(part("rs_att")(spread, memory, active))
        chain = part("rnn_relation_3")(chain, lengths)
        result = {"relation_logits": relation_logits}
        low = VERY_LOW * (1 - mask.unsqueeze(-1))
        for name in ("subject_start", "subject_end", "object_start", "object_end"):
            chain = part(f"rnn_{name}")(chain, lengths)
            result[f"{name}_logits"] = part(f"linear_{name}")(chain) - low
        for name in ("start", "end", "type"):
            chain = part(f"rnn_{name}")(torch.cat([output, chain], dim=-1), lengths)
            if name == "type":
                result["answer_type_logits"] = self.linear_type(chain.max(dim=1)[0])
            else:
                result[f"{name}_logits"] = (part(f"linear_{name}")(chain) - low).squeeze(-1)
        result["support_logits"] = torch.cat([torch.zeros_like(support), support], dim=-1)
        return result

    def _words(self, ids: Tensor, characters: Tensor) -> Tensor:
        embedded = self.char_emb(characters.flatten(0, 1)).transpose(1, 2)
        spelled = self.char_cnn(embedded).max(dim=-1)[0].view(*ids.shape, -1)
        return torch.cat([self.word_emb(ids), spelled], dim=-1)


def dense_maps(bounds: Tensor, tokens: int) -> Tensor:
    """Give 0/1 maps of sentence starts, ends and members: (3, B, T, S)."""
    batch, sentences, _ = bounds.shape
    maps = torch.zeros(3, batch, tokens, sentences)
    for row in range(batch):
        for column, (start, end) in enumerate(bounds[row].tolist()):
            if end > start:
                maps[0, row, start, column] = 1
                maps[1, row, end - 1, column] = 1
                maps[2, row, start:end, column] = 1
    return maps


def losses(output: dict[str, Tensor], labels: dict[str, Tensor]) -> Tensor:
    """Give the published loss."""
    batch = len(labels["answer_type"])
    total = cross_entropy(output["answer_type_logits"], labels["answer_type"], reduction="sum")
    for side in ("start", "end"):
        positions = labels[f"{side}_positions"]
        total = total + cross_entropy(output[f"{side}_logits"], positions, reduction="sum")
    total = total / batch
    total = total + 0.5 * cross_entropy(
        output["support_logits"].view(-1, 2), labels["support"].view(-1), ignore_index=-100
    )
    evidence = binary_cross_entropy(
        output["relation_logits"].sigmoid(), labels["relations"].float(), reduction="none"
    )
    evidence = evidence.sum(1).mean()
    for name in ("subject_start", "subject_end", "object_start", "object_end"):
        logits = output[f"{name}_logits"].transpose(1, 2).flatten(0, 1)
        evidence = evidence + cross_entropy(logits, labels[name].flatten(), reduction="sum") / batch
    return total + 0.5 * evidence


def dense_spans(starts: Tensor, ends: Tensor, width: int = 16) -> tuple[Tensor, Tensor]:
    """Search the whole square of starts and ends: (B, T) each to the best pair (B,)."""
    tokens = starts.size(1)
    band = torch.ones(tokens, tokens).triu().tril(width - 1)
    totals = starts.unsqueeze(2) + ends.unsqueeze(1) - VERY_LOW * (1 - band)
    return totals.max(dim=2)[0].max(dim=1)[1], totals.max(dim=1)[0].max(dim=1)[1]


def decode(output: dict[str, Tensor]) -> list[tuple[Tensor, Tensor]]:
    """Find the answer's and all slots' spans as the published model does at prediction."""
    found = [dense_spans(output["start_logits"], output["end_logits"])]
    for who in ("subject", "object"):
        starts, ends = output[f"{who}_start_logits"], output[f"{who}_end_logits"]
        for slot in range(starts.size(2)):
            found.append(dense_spans(starts[..., slot], ends[..., slot]))
    return found
