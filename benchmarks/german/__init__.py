"""A small German: words, sentences and stories of everyday life, written by a grammar that can also read them.

- `topics`: what there is to tell, in tables
- `words`: how nouns, verbs and people are inflected
- `grammar`: the many sentences that say one thing
- `writer`: stories, and a corpus of them
- `reader`: what a sentence says, or that it is none
"""
