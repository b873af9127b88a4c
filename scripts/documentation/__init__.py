"""The docs site: pages that the code itself fills, the Sphinx build, man pages and shell completions.

scripts/docs is the command. A page of docs/ asks for a generated part by a comment of one line:

    <!-- generated: commands fakecgroup -->

`parts.PARTS` has the generators by their names.
"""
