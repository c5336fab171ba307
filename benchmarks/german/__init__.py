"""A small German: words, sentences and stories of everyday life, written by a grammar that can also read them.

- `topics`: tables of topics and their events
- `words`: how nouns, verbs and people are inflected
- `grammar`: the many sentences for one event
- `writer`: stories, and a corpus of them
- `reader`: parses a sentence, or finds that it is not one
"""
