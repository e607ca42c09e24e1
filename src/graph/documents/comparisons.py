"""Counts the pairs of repeated fields, which validation compares one by one."""

from collections import Counter

import graphql

STEPS_PER_PAIR = 2  # of validation, at least; arguments and fields below take more


def count_steps(document: graphql.DocumentNode) -> int:
    """
    Count the steps that validation needs at least to compare the repeated fields of *document*.

    The fields of a selection set and of its inline fragments are compared with each other when
    they have the same response key. Each field is visited once.
    """
    steps = 0
    selection_sets = [
        definition.selection_set
        for definition in document.definitions
        if isinstance(definition, graphql.ExecutableDefinitionNode)
    ]
    for selection_set in selection_sets:  # which grows
        keys: Counter[str] = Counter()
        merged_sets = [selection_set]
        for merged_set in merged_sets:  # which grows, too
            for node in merged_set.selections:
                if isinstance(node, graphql.InlineFragmentNode):
                    merged_sets.append(node.selection_set)
                elif isinstance(node, graphql.FieldNode):
                    keys[(node.alias or node.name).value] += 1
                    if node.selection_set is not None:
                        selection_sets.append(node.selection_set)
        pairs = sum(count * (count - 1) // 2 for count in keys.values())
        steps += STEPS_PER_PAIR * pairs
    return steps
