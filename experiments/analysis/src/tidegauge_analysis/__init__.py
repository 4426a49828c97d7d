"""Statistics of experiments: which stores differ, by how much, and how sure that is."""
