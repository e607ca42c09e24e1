// The page before a token is connected.
import { openedOperation } from './gateway.js';

export function Empty({ starters, connect }) {
  const profiles = starters?.profiles ?? [];
  const opened = openedOperation();
  return (
    <section className="gw-empty">
      <h2>The explorer of this gateway</h2>
      {opened && <p role="status"><strong>{opened}</strong> opens in the first tab when a token is connected.</p>}
      <p>
        access-gateway lets automation clients use mail, calendars, task boards and content, as far as
        their access tokens allow. Here you write GraphQL with a token, and see what it may do, what an
        answer cost, what was hidden, why something was refused, and the REST call that does the same.
      </p>
      {profiles.length > 0 && (
        <>
          <p>This is a demo with invented accounts. Choose a token to begin:</p>
          <ul className="gw-profiles">
            {profiles.map(({ name, sentence, token }) => (
              <li key={name}>
                <button type="button" className="gw-button" onClick={() => connect(token)}>{name}</button>
                <span>{sentence}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      <p>
        {profiles.length > 0 ? 'Or paste' : 'Paste'}{' an access token above. '}
        {starters?.sandbox
          ? <><code>./run demo</code>{' prints one for each profile.'}</>
          : <><code>access-gateway token create</code>{' or an administrator makes one.'}</>}
      </p>
      <p>
        The token stays in this tab, and is sent to this server only. Queries, variables and history are kept in this
        browser until "Forget". The page loads nothing from elsewhere.
      </p>
    </section>
  );
}
