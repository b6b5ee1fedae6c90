"""The GPT, its sizes, the optimiser and its schedule, the trainer, generation, and what probes see of them."""
