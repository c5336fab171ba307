"""Pairs of questions and sentences that differ in little: where that changes the meaning, and where it does not.

Made to find what the stand-in is blind to. Each kind of change has a few pairs; those called "same" must be accepted.
"""

from __future__ import annotations

CONTRASTS: dict[str, tuple[tuple[str, str], ...]] = {
    "negation": (
        ("Why should I learn to play chess?", "Why should I not learn to play chess?"),
        ("Is it safe to eat raw mushrooms?", "Is it unsafe to eat raw mushrooms?"),
        ("The council approved the new bridge on Monday.", "The council never approved the new bridge on Monday."),
        ("Can plants grow with sunlight?", "Can plants grow without sunlight?"),
    ),
    "number": (
        ("How do I lose 5 kilos in a month?", "How do I lose 15 kilos in a month?"),
        ("What can I cook with two eggs and some rice?", "What can I cook with six eggs and some rice?"),
        ("What changed in the 2012 version of the law?", "What changed in the 2021 version of the law?"),
        ("Is a salary of $40,000 enough in Oslo?", "Is a salary of $90,000 enough in Oslo?"),
    ),
    "roles": (
        ("Why did the wolf chase the bear?", "Why did the bear chase the wolf?"),
        ("Can a tenant sue a landlord over a broken window?", "Can a landlord sue a tenant over a broken window?"),
        ("Is Finnish harder than Hungarian to learn?", "Is Hungarian harder than Finnish to learn?"),
        ("How do I move photos from my phone to my laptop?", "How do I move photos from my laptop to my phone?"),
    ),
    "opposite": (
        ("How can I gain weight quickly?", "How can I lose weight quickly?"),
        ("What are the advantages of working at night?", "What are the disadvantages of working at night?"),
        ("What is the cheapest way to heat a small flat?", "What is the dearest way to heat a small flat?"),
        ("How do I turn on notifications for a group?", "How do I turn off notifications for a group?"),
        ("Why do prices rise before holidays?", "Why do prices fall before holidays?"),
    ),
    "name": (
        ("What is it like to live in Portugal as a student?", "What is it like to live in Norway as a student?"),
        ("How do I install Python on an old laptop?", "How do I install Java on an old laptop?"),
        ("Who wrote the best biography of Mozart?", "Who wrote the best biography of Chopin?"),
        ("Is green tea good for the skin?", "Is black coffee good for the skin?"),
    ),
    "question": (
        ("When do swallows fly south?", "Why do swallows fly south?"),
        ("Where can I study marine biology?", "Why should I study marine biology?"),
        ("Who invented the zip fastener?", "Who sells the zip fastener?"),
    ),
    "condition": (
        ("Should I see a doctor if the cough goes away?", "Should I see a doctor if the cough comes back?"),
        ("Can I get a refund before the concert takes place?", "Can I get a refund after the concert took place?"),
        ("Do all birds build nests?", "Do any birds build nests in winter?"),
    ),
    "same": (
        ("How do I learn to draw faces?", "What is the best way to learn how to draw faces?"),
        ("Why is the sky blue?", "What makes the sky look blue?"),
        ("Is it safe to swim after eating?", "Is swimming after a meal safe?"),
        ("What are the benefits of walking every day?", "How does walking daily benefit you?"),
        ("How can I stop biting my nails?", "How do I quit nail biting?"),
        ("Which is the best camera for beginners?", "What camera would you recommend to a beginner?"),
        ("How long does it take to learn to juggle?", "How much time do you need to learn juggling?"),
        ("Can I freeze boiled potatoes?", "Is it possible to freeze potatoes once they are boiled?"),
        ("Is it so that owls cannot move their eyes?", "Are owls unable to move their eyes?"),
        ("The ferry leaves at 8 in the morning.", "At 8 a.m. the ferry departs."),
    ),
}
