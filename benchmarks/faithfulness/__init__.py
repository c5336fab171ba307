"""The test bed for faithfulness: good pairs, the same broken on purpose, and what finds the breaks."""
