"""Answers questions about the calls of a token, in the shape of the management API."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gateway.audit.decision import Outcome
from gateway.auth.authenticator import Authenticator
from gateway.explain import layers, views
from gateway.explain.request import Document, Question
from gateway.explain.result import DryRunResult, ExplainedDenial
from gateway.explain.runner import DryRunner
from gateway.explain.search import ChangeSearch, ChangeSearchResult
from gateway.explain.subject import Subject
from gateway.store import timestamps
from gateway.store.tables import AccessToken
from policy.remedies import changes
from policy.remedies.changes import AddAllowRule, ExtendLifetime, PolicyChange, RemoveRule
from policy.vocabulary import RuleAction


class Explainer:
    """Explains why calls are refused and which change would let them pass. One per process."""

    def __init__(self, runner: DryRunner, callers: Authenticator) -> None:
        self._runner = runner
        self._callers = callers

    async def explain(
        self, tokens: Sequence[AccessToken], question: Question, *, address: str | None = None
    ) -> views.Explanation:
        """
        Explain how a call would go with a token, layer by layer, and what would let it pass.

        *tokens* are the token and its ancestors, the parent second. Nothing is charged, stored or
        changed. *address* is the client address of the call, if known.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        subject = await Subject.read(tokens, self._callers, timestamps.now_ms())

        async def run_dry(parts: Any) -> DryRunResult:
            return await self._runner.ask(question, subject.changed(parts), address=address)

        refusing = await self._refusing_ancestor(question, subject, address)
        if refusing is None:
            search = await ChangeSearch(run_dry).run()
        else:
            obstacle = (
                f"Token {refusing}, from which this token was made, does not allow it: explain the "
                "call with that token."
            )
            first = await run_dry(())
            search = ChangeSearchResult(first=first, parts=(), obstacle=obstacle, dry_runs=1)
        first = search.first
        denial = first.denial
        change = _change(search.parts, subject) if search.parts else None
        optional: dict[str, Any] = {}
        if isinstance(question, Document):
            optional["fields"] = _fields(first)
        if subject.parent is not None:  # which token refuses, of a child token and its ancestors
            optional["refused_by"] = None if denial is None else refusing or subject.token.id
        return views.Explanation(
            outcome=_outcome(denial, held=first.held),
            status=first.status,
            dry_run=first.state.previewed,
            error=denial.error if denial else None,
            message=denial.message if denial else None,
            layers=[
                views.LayerStep(layer=step.layer, outcome=step.outcome, detail=step.detail or None)
                for step in layers.layer_results(first)
            ],
            rule=_rule(first, subject),
            hidden_fields={
                surface.value: words for surface, words in layers.hidden_fields(first).items()
            },
            change=None if search.obstacle else change,
            unchangeable=search.obstacle,
            partial_change=change if search.obstacle else None,
            rehearsals=search.dry_runs,
            **optional,
        )

    async def _refusing_ancestor(
        self, question: Question, subject: Subject, address: str | None
    ) -> int | None:
        """Return the id of the highest ancestor that may not do it itself; None: all may."""
        of_ancestors = replace(question, expected_effect=None)  # a digest is one token's own
        for ancestor in reversed(subject.ancestors):
            result = await self._runner.ask(of_ancestors, ancestor, address=address)
            if result.denial is not None:
                return ancestor.token.id
        return None


def _outcome(denial: ExplainedDenial | None, *, held: bool) -> Outcome:
    if denial is None:
        return Outcome.HELD if held else Outcome.ALLOWED
    return Outcome.FAILED if denial.failed else Outcome.REFUSED


def _fields(result: DryRunResult) -> list[views.RootField]:
    """Return the outcome of each root field and edge of a document."""
    denials: dict[str, ExplainedDenial] = {}
    for denial in result.denials:
        denials.setdefault(denial.key, denial)
    return [
        views.RootField(
            key=field.key,
            field=field.name,
            outcome=_outcome(denials.get(field.key), held=result.held and field.writes),
            layer=denials[field.key].layer if field.key in denials else None,
            error=denials[field.key].error if field.key in denials else None,
        )
        for field in result.state.fields
    ]


def _rule(result: DryRunResult, subject: Subject) -> views.DecidingRule | None:
    """Return the rule that refused the call, or the only rule that allowed it."""
    rule_id = getattr(result.denial.problem, "rule_id", None) if result.denial else None
    if result.denial is None and result.state.context is not None:
        allowed_by = result.state.subject.own_rules.allowed_by
        rule_id = next(iter(allowed_by)) if len(allowed_by) == 1 else None
    levels = (subject, *subject.ancestors)
    all_rules = (rule for level in levels for rule in level.all_rules)
    rule = next((rule for rule in all_rules if rule.id == rule_id), None)
    return None if rule is None else views.DecidingRule.of(rule)


def _change(parts: tuple[PolicyChange, ...], subject: Subject) -> views.TokenChange:
    """Return the change in the form that the management API accepts."""
    until = [part.expires_at for part in parts if isinstance(part, ExtendLifetime)]
    end = {"expires_at": until[-1]} if until else {}
    added = (part for part in parts if isinstance(part, AddAllowRule))
    return views.TokenChange(
        settings=changes.settings_patch(subject.token.settings, parts),
        add_rules=[views.RuleToAdd.of(part, action=RuleAction.ALLOW) for part in added],
        remove_rules=[part.rule.id for part in parts if isinstance(part, RemoveRule)],
        text=changes.describe(parts),
        **end,
    )
