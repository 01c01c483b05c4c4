"""Pictures of graphs: their items, groups, placement and drawing.

`model.py` makes items, groups and edges of nodes; `layers.py` gives each group's members ranks and
an order, `placing.py` coordinates; `svg.py` draws that, and `page.py` makes a page in which groups
fold, whose script places anew what has changed its size, from the same ranks and orders.
"""
