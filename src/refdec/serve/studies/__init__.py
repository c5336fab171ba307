"""Rating studies: people rate the outputs of several systems, without knowing which is whose.

From files of outputs to a plan (`material`, `design`, `checks`, `plan`), the file of the study (`store`), pages for
raters (`router`, `app`, `tokens`), and from the answers to tables (`export`, `figures`, `report`). Loads no models.
"""
