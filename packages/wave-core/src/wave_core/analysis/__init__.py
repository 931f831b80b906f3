"""Questions that passes and backends ask about a graph; nothing here changes one.

Geometry is asked of `PassContext`, which remembers the answer until the graph changes;
the modules here say what follows from it: loops and tiles, matrix instructions, runs of
neighbours, waves, what is known in a region, dependences through shared memory.
"""
