"""Training without a model: a learner with known losses, the best that could be reached, and races of policies."""
