"""Questions about a token's calls, answered. One per process."""

from typing import Any, TypedDict

from gateway.audit.decision import Outcome
from gateway.auth.authenticator import Authenticator
from gateway.explain import layers
from gateway.explain.question import Document, Question
from gateway.explain.result import DryRunResult, ExplainedDenial
from gateway.explain.runner import DryRunner
from gateway.explain.search import ChangeSearch
from gateway.explain.subject import RecordingRuleSet, Subject
from gateway.operations import views
from gateway.store import timestamps
from gateway.store.tables import AccessToken
from policy.remedies import changes
from policy.remedies.changes import AddAllowRule, ExtendLifetime, PolicyChange, RemoveRule
from policy.rules import Rule
from policy.vocabulary import RuleAction


class Explainer:
    """Explains why calls are refused, and what would let them pass."""

    def __init__(self, stage: DryRunner, callers: Authenticator) -> None:
        self._stage = stage
        self._callers = callers

    async def explain(
        self, token: AccessToken, question: Question, *, address: str | None = None
    ) -> views.Explanation:
        """
        Say how a call would go with *token*, layer by layer, and what would let it pass.

        Nothing is charged, stored or changed. Returns the answer as the management API gives it.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        subject = await Subject.read(token, self._callers, timestamps.now_ms())

        async def rehearse(parts: Any) -> DryRunResult:
            return await self._stage.play(question, subject.changed(parts), address=address)

        found = await ChangeSearch(rehearse).run()
        first = found.first
        change = _change(found.parts, subject) if found.parts else None
        fields: _Fields = {"fields": _fields(first)} if isinstance(question, Document) else {}
        return {
            "outcome": _outcome(first.stop),
            "status": first.status,
            "error": first.stop.error if first.stop else None,
            "message": first.stop.message if first.stop else None,
            "layers": [
                {"layer": one.layer, "outcome": one.outcome, "detail": one.detail or None}
                for one in layers.layer_results(first)
            ],
            "rule": _rule(first, subject),
            "hiddenFields": layers.hidden_fields(first),
            **fields,
            "change": None if found.obstacle else change,
            "unchangeable": found.obstacle,
            "partialChange": change if found.obstacle else None,
            "rehearsals": found.rehearsals,
        }


class _Fields(TypedDict, total=False):
    fields: list[views.RootField]


class _End(TypedDict, total=False):
    expiresAt: str


def _outcome(stop: ExplainedDenial | None) -> Outcome:
    if stop is None:
        return Outcome.ALLOWED
    return Outcome.FAILED if stop.failed else Outcome.REFUSED


def _fields(course: DryRunResult) -> list[views.RootField]:
    """Tell of each root field of a document how it went."""
    stops: dict[str, ExplainedDenial] = {}
    for stop in course.stops:
        stops.setdefault(stop.key, stop)
    return [
        {
            "key": one.key,
            "field": one.name,
            "outcome": _outcome(stops.get(one.key)),
            "layer": stops[one.key].layer if one.key in stops else None,
            "error": stops[one.key].error if one.key in stops else None,
        }
        for one in course.play.root_fields
    ]


def _rule(course: DryRunResult, subject: Subject) -> views.DecidingRule | None:
    """Return the rule that refused; or that allowed, where it was one alone."""
    rule_id = getattr(course.stop.problem, "rule_id", None) if course.stop else None
    if course.stop is None and course.play.context is not None:
        rules = course.play.context.caller.rules
        allowed_by = rules.allowed_by if isinstance(rules, RecordingRuleSet) else set()
        rule_id = next(iter(allowed_by)) if len(allowed_by) == 1 else None
    found = next((one for one in subject.all_rules if one.id == rule_id), None)
    return None if found is None else _shown(found)


def _shown(rule: Rule) -> views.DecidingRule:
    return {
        "id": rule.id,
        "ruleType": rule.rule_type,
        "pattern": rule.pattern,
        "action": rule.action,
    }


def _change(parts: tuple[PolicyChange, ...], subject: Subject) -> views.TokenChange:
    """Write a change down as the management API takes it."""
    until = [one.expires_at for one in parts if isinstance(one, ExtendLifetime)]
    end: _End = {"expiresAt": timestamps.to_text(until[-1])} if until else {}
    return {
        "settings": changes.settings_patch(subject.token.settings, parts),
        **end,
        "addRules": [
            {"ruleType": one.rule_type, "pattern": one.pattern, "action": RuleAction.ALLOW}
            for one in parts
            if isinstance(one, AddAllowRule)
        ],
        "removeRules": [one.rule.id for one in parts if isinstance(one, RemoveRule)],
        "text": changes.describe(parts),
    }
