"""Text for experiments: sources, cache, tokenizer, split, sampler."""
