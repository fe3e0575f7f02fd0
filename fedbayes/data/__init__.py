"""Data sets: their types, where they come from, and how they are checked."""
