"""A whole cluster: what is wrong on which node, and what a change would do where.

Data flow: `dump` reads nodes and pods and keeps each node's objects together, `node_object` and `configs` make a node's
configuration of them, `change` the one that it is compared with. `evaluate` looks at one node by the `rules`, with what
containers use (`usage`); `workers` and `on_dask` do that for many at once. `merge` joins the results, `report` shows
them, `page` as a page.
"""
