// "What this token may do": from `accessToken`, and the masks from the token's own introspection.
import { useEffect } from 'react';
import { useGraphiQL } from '@graphiql/react';
import { loadOwnToken, useRemembered } from '../gateway.js';
import { maskedFields } from '../masked.js';

const SURFACES = [
  ['email', 'Email', 'emailAccessEnabled', (own) => own.effectiveEmailOperations],
  ['calendar', 'Calendar', 'calendarAccessEnabled', (own) => [own.settings.calendarAccessLevel]],
  ['tasks', 'Tasks', null, (own) => own.effectiveTaskOperations],
  ['collab', 'Content', 'collabAccessEnabled', (own) => own.effectiveCollabOperations],
];
const PERIODS = { perMinute: 'in a minute', perHour: 'in an hour', perDay: 'in a day' };

function isOn(own, setting, operations) {
  return setting ? own.settings[setting] : operations.length > 0;
}

function days(count, side) {
  return count === null ? '' : `${count} ${count === 1 ? 'day' : 'days'} ${side}`;
}

// Rules in general words: their patterns are not told.
function rules({ settings }) {
  const period = [days(settings.timeframePastDays, 'back'), days(settings.timeframeFutureDays, 'ahead')].filter(Boolean);
  return [
    settings.collabAccessEnabled && (settings.collabAllowAllDefault
      ? 'All content is open, except what a rule blocks.'
      : 'No content is open, except what a rule allows.'),
    settings.allowedCalendarIds && 'Chosen calendars alone.',
    period.length > 0 && `Events at most ${period.join(' and ')}.`,
    settings.taskBoards && 'Chosen boards alone.',
    settings.allowedConnectionIds && 'Chosen accounts alone.',
    settings.recipientRules && 'Mail and invitations to allowed recipients alone.',
    settings.sendMode === 'draft' && 'Mail is left as a draft for a person to send.',
    settings.writes === 'effect' && 'A write runs only as the effect that was shown before it.',
    settings.writes === 'approve' && 'A write waits until a person releases it.',
    settings.requireConnection && 'A write names its account where there are several.',
    settings.accounts && 'Single accounts are narrowed further.',
    settings.allowChildren && 'May make child tokens, which may do no more.',
    settings.subscriptionsEnabled && 'May have URLs called when something changed.',
  ].filter(Boolean);
}

function quotas(settings) {
  return Object.entries(PERIODS)
    .filter(([name]) => Number.isInteger(settings.quota?.[name]))
    .map(([name, words]) => `${settings.quota[name]} requests ${words}`);
}

function Masks({ schema }) {
  const fields = [...maskedFields(schema)];
  if (!fields.length) return <p>It sees every field of what it may read.</p>;
  return (
    <ul className="gw-masks">
      {fields.map(([word, coordinates]) => (
        <li key={word}>The mask <code>{word}</code> makes these fields null: {coordinates.join(', ')}</li>
      ))}
    </ul>
  );
}

function Surface({ kind, name, operations, on, accounts }) {
  const { products } = useRemembered();
  const labelOf = (code) => (products?.[kind]?.[code] ? `${products[kind][code]} (${code})` : code);
  return (
    <>
      <dt>{name} <span className={on ? 'gw-on' : 'gw-off'}>{on ? 'on' : 'off'}</span></dt>
      <dd>
        {on && <p>{operations.length ? operations.map((word) => <code key={word}>{word}</code>) : 'No operation.'}</p>}
        {accounts.map((account) => (
          <p key={account.id} className="gw-account">
            {account.accountEmail} · {labelOf(account.provider)}
            {account.status !== 'active' && <strong> · {account.status}</strong>}
          </p>
        ))}
        {on && !accounts.length && <p>No account is connected.</p>}
      </dd>
    </>
  );
}

function TokenPanel() {
  const { token, own, problem, runs, tab } = useRemembered();
  const schema = useGraphiQL((store) => store.schema);
  useEffect(() => {
    if (token && !own) loadOwnToken(token);
  }, [token, own]);
  if (!own) return <section className="gw-panel"><h2>This token</h2><p>{problem || 'Loading …'}</p></section>;
  const limits = runs[tab]?.limits ?? own.limits;
  const restrictions = rules(own);
  return (
    <section className="gw-panel" aria-label="What this token may do" tabIndex={0}>
      <h2>What this token may do</h2>
      <p><strong>{own.name}</strong> · {own.expiresAt ? `expires ${own.expiresAt}` : 'does not expire'}</p>
      <dl>
        {SURFACES.map(([kind, name, setting, operationsOf]) => {
          const operations = operationsOf(own);
          const accounts = own.connections.filter((connection) => connection.kind === kind);
          const on = isOn(own, setting, operations);
          return <Surface key={kind} kind={kind} name={name} operations={operations} on={on} accounts={accounts} />;
        })}
      </dl>
      <h3>Masks</h3>
      <Masks schema={schema} />
      <h3>Rules</h3>
      {restrictions.length ? <ul>{restrictions.map((text) => <li key={text}>{text}</li>)}</ul> : <p>None.</p>}
      <h3>Quota</h3>
      <p>{quotas(own.settings).join(', ') || 'None of its own.'}</p>
      {limits && <p>Left in the tightest window: {limits.left} of {limits.limit}.</p>}
    </section>
  );
}

function TokenIcon() {
  return (
    <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.5" aria-hidden="true">
      <circle cx="8" cy="8" r="5" /><path d="m12 12 9 9m-4-4 3-3" />
    </svg>
  );
}

export const TOKEN_PLUGIN = { title: 'This token', icon: TokenIcon, content: TokenPanel };
