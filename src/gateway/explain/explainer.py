"""Answers questions about the calls of a token, in the shape of the management API."""

from typing import Any, TypedDict

from gateway.audit.decision import Outcome
from gateway.auth.authenticator import Authenticator
from gateway.explain import layers, views
from gateway.explain.request import Document, Question
from gateway.explain.result import DryRunResult, ExplainedDenial
from gateway.explain.runner import DryRunner
from gateway.explain.search import ChangeSearch
from gateway.explain.subject import RecordingRuleSet, Subject
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
        self, token: AccessToken, question: Question, *, address: str | None = None
    ) -> views.Explanation:
        """
        Explain how a call would go with *token*, layer by layer, and what would let it pass.

        Nothing is charged, stored or changed. *address* is the client address of the call, if
        known.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        subject = await Subject.read(token, self._callers, timestamps.now_ms())

        async def run_dry(parts: Any) -> DryRunResult:
            return await self._runner.run(question, subject.changed(parts), address=address)

        search = await ChangeSearch(run_dry).run()
        first = search.first
        denial = first.denial
        change = _change(search.parts, subject) if search.parts else None
        fields: _Fields = {"fields": _fields(first)} if isinstance(question, Document) else {}
        return {
            "outcome": _outcome(denial),
            "status": first.status,
            "error": denial.error if denial else None,
            "message": denial.message if denial else None,
            "layers": [
                {"layer": step.layer, "outcome": step.outcome, "detail": step.detail or None}
                for step in layers.layer_results(first)
            ],
            "rule": _rule(first, subject),
            "hiddenFields": layers.hidden_fields(first),
            **fields,
            "change": None if search.obstacle else change,
            "unchangeable": search.obstacle,
            "partialChange": change if search.obstacle else None,
            "rehearsals": search.dry_runs,
        }


class _Fields(TypedDict, total=False):
    fields: list[views.RootField]


class _End(TypedDict, total=False):
    expiresAt: str


def _outcome(denial: ExplainedDenial | None) -> Outcome:
    if denial is None:
        return Outcome.ALLOWED
    return Outcome.FAILED if denial.failed else Outcome.REFUSED


def _fields(result: DryRunResult) -> list[views.RootField]:
    """Return the outcome of each root field of a document."""
    denials: dict[str, ExplainedDenial] = {}
    for denial in result.denials:
        denials.setdefault(denial.key, denial)
    return [
        {
            "key": field.key,
            "field": field.name,
            "outcome": _outcome(denials.get(field.key)),
            "layer": denials[field.key].layer if field.key in denials else None,
            "error": denials[field.key].error if field.key in denials else None,
        }
        for field in result.state.root_fields
    ]


def _rule(result: DryRunResult, subject: Subject) -> views.DecidingRule | None:
    """Return the rule that refused the call, or the only rule that allowed it."""
    rule_id = getattr(result.denial.problem, "rule_id", None) if result.denial else None
    if result.denial is None and result.state.context is not None:
        rules = result.state.context.caller.rules
        allowed_by = rules.allowed_by if isinstance(rules, RecordingRuleSet) else set()
        rule_id = next(iter(allowed_by)) if len(allowed_by) == 1 else None
    rule = next((rule for rule in subject.all_rules if rule.id == rule_id), None)
    if rule is None:
        return None
    return {
        "id": rule.id,
        "ruleType": rule.rule_type,
        "pattern": rule.pattern,
        "action": rule.action,
    }


def _change(parts: tuple[PolicyChange, ...], subject: Subject) -> views.TokenChange:
    """Return the change in the form that the management API accepts."""
    until = [part.expires_at for part in parts if isinstance(part, ExtendLifetime)]
    end: _End = {"expiresAt": timestamps.to_text(until[-1])} if until else {}
    return {
        "settings": changes.settings_patch(subject.token.settings, parts),
        **end,
        "addRules": [
            {"ruleType": part.rule_type, "pattern": part.pattern, "action": RuleAction.ALLOW}
            for part in parts
            if isinstance(part, AddAllowRule)
        ],
        "removeRules": [part.rule.id for part in parts if isinstance(part, RemoveRule)],
        "text": changes.describe(parts),
    }
