"""What the reader must know about any estimate of a model."""

from calc.activations import widest_mlp
from calc.architecture import Architecture
from calc.custom import is_custom
from calc.estimate import Note, Workload


def model_notes(architecture: Architecture, workload: Workload) -> list[Note]:
    """What is assumed of a custom model, what is not counted, and a context beyond the model's."""
    notes = []
    if is_custom(architecture):
        notes.append(Note(code="custom_assumptions", params={"intermediate_size": widest_mlp(architecture)}))
    if not architecture.vocab_size:
        notes.append(Note(code="logits_not_counted"))
    if any(tower.loaded for tower in architecture.towers):
        notes.append(Note(code="tower_activations_not_counted"))
    limit = architecture.max_position_embeddings
    if limit is not None and workload.context_tokens > limit:
        notes.append(Note(code="context_over_limit", params={"context": workload.context_tokens, "limit": limit}))
    return notes
