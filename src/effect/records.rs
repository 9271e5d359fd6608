//! What is left of a run on disk? `.vplan/runs/ID/`.
