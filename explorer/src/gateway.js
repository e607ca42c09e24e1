// Requests to the gateway, and what this tab remembers of them.
import { useSyncExternalStore } from 'react';

const endpoint = new URL('../graphql', location.href).href;
// A gateway that restarts: nothing listens (0), or the proxy before it answers.
export const ABSENT = new Set([0, 502, 503, 504]);

export async function post(token, params, { path = '', headers = {} } = {}) {
  let response;
  try {
    response = await fetch(endpoint + path, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        accept: 'application/graphql-response+json, application/json',
        authorization: `Bearer ${token}`,
      },
      body: JSON.stringify(params),
    });
  } catch {
    const message = 'The gateway did not answer. It may have carried out a mutation: check before you run it again.';
    return { status: 0, headers: new Headers(), body: { errors: [{ message }] } };
  }
  const text = await response.text();
  try {
    return { status: response.status, headers: response.headers, body: JSON.parse(text) };
  } catch {
    const message = `HTTP ${response.status}: the answer is not JSON.`;
    return { status: response.status, headers: response.headers, body: { errors: [{ message }] } };
  }
}

export function refusal(status, body) {
  const message = body?.message ?? body?.errors?.[0]?.message;
  return message ? `${status}: ${message}` : `The server answered ${status}.`;
}

// An access token has this beginning; others may be the admin token, pasted by mistake.
export async function isAdminToken(token) {
  if (token.startsWith('agw_')) return false;
  try {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch('../api/access-tokens?limit=1', { headers })).ok;
  } catch {
    return false;
  }
}

export function operationOf(document) {
  return /^\s*(?:query|mutation)\s+(\w+)/m.exec(document)?.[1] ?? null;
}

// The operation that open.js left for the first tab, while there is no token yet.
export function openedOperation() {
  return sessionStorage.getItem('access-gateway-opened');
}

// What to offer depends on the deployment: a mutation is a starter on the sandbox only.
export async function loadStarters() {
  try {
    const response = await fetch('starters.json');
    return await response.json();
  } catch {
    return { sandbox: false, documents: [], profiles: [], products: {} };
  }
}

// The panels of GraphiQL take no properties, so they read this store. `runs` has the last run of
// each editor tab, by the tab's id.
let state = { token: '', own: null, tab: '', runs: {}, products: {} };
const listeners = new Set();

export function remember(change) {
  state = { ...state, ...change };
  for (const listener of listeners) listener();
}

export function rememberRun(run) {
  remember({ runs: { ...state.runs, [state.tab]: run } });
}

export function remembered() {
  return state;
}

function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useRemembered() {
  return useSyncExternalStore(subscribe, remembered);
}

const OWN = `{ accessToken { name expiresAt settings effectiveEmailOperations effectiveTaskOperations
  effectiveCollabOperations connections { id kind provider accountEmail status } } }`;

export async function loadOwnToken(token) {
  const { status, headers, body } = await post(token, { query: OWN });
  const own = body.data?.accessToken ?? null;
  remember({ token, own: own && { ...own, limits: limitsOf(headers) }, problem: own ? '' : refusal(status, body) });
}

export function limitsOf(headers) {
  const [left, limit] = ['x-ratelimit-remaining', 'x-ratelimit-limit'].map((name) => headers.get(name));
  return left === null || limit === null ? null : { left: Number(left), limit: Number(limit) };
}
