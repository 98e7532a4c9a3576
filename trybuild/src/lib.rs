//! What the macros accept and refuse: see `tests/`.
