// Check the sandbox's monday.com boards with the vendor's own client: `node check.cjs '{"endpoint": …}'`.
const assert = require("node:assert/strict");
const { ApiClient, ClientError } = require("@mondaydotcomorg/api");

const { endpoint, token, boards } = JSON.parse(process.argv[2]);
const board = boards["Boat orders"];

async function refused(call, code, message) {
  await assert.rejects(call, (problem) => {
    assert.ok(problem instanceof ClientError, String(problem));
    const [first] = problem.response.errors;
    assert.equal(first.extensions.code, code);
    assert.match(first.message, message);
    return true;
  });
}

async function main() {
  const client = new ApiClient({ token, endpoint, apiVersion: "2026-10" });

  const { me } = await client.operations.getMeOp();
  assert.deepEqual([me.name, typeof me.id], ["Nora Lindqvist", "string"]);
  const groups = await client.operations.getBoardGroupsOp({ ids: [board] });
  assert.equal(groups.boards[0].groups.length, 4);
  const items = await client.operations.getBoardItemsOp({ ids: [board] });
  assert.equal(items.boards[0].items_page.items.length, 25);

  const made = await client.operations.createItemOp({
    boardId: board,
    groupId: "shed",
    itemName: "From Node ✓",
  });
  const itemId = made.create_item.id;
  await client.operations.changeSimpleColumnValueOp({
    boardId: board,
    itemId,
    columnId: "text",
    value: "HL-77",
  });
  await client.operations.changeColumnValueOp({
    boardId: board,
    itemId,
    columnId: "status",
    value: JSON.stringify({ label: "Done" }),
  });
  const changed = await client.operations.changeMultipleColumnValuesOp({
    boardId: board,
    itemId,
    columnValues: JSON.stringify({
      person: { personsAndTeams: [{ id: Number(me.id), kind: "person" }] },
      timerange: { from: "2026-12-01", to: "2026-12-09" },
      name: "Renamed from Node",
    }),
  });
  const kept = Object.fromEntries(
    changed.change_multiple_column_values.column_values.map((one) => [one.id, one.value]),
  );
  assert.equal(changed.change_multiple_column_values.name, "Renamed from Node");
  assert.equal(JSON.parse(kept.timerange).to, "2026-12-09");
  assert.equal(JSON.parse(kept.status).index, 1);

  const typed = await client.request(
    `query ($ids: [ID!]) { items(ids: $ids) { column_values {
       __typename id text ... on StatusValue { label is_done }
       ... on PeopleValue { persons_and_teams { id kind } } } } }`,
    { ids: [itemId] },
  );
  const cells = Object.fromEntries(typed.items[0].column_values.map((one) => [one.id, one]));
  assert.deepEqual(
    [cells.status.__typename, cells.status.label, cells.status.is_done],
    ["StatusValue", "Done", true],
  );
  assert.deepEqual(cells.person.persons_and_teams, [{ id: me.id, kind: "person" }]);

  // One invalid value refuses the whole call; aliases fail one by one, and the others succeed.
  await refused(
    () =>
      client.operations.changeMultipleColumnValuesOp({
        boardId: board,
        itemId,
        columnValues: JSON.stringify({ text: "gone", status: { label: "Nope" } }),
      }),
    "ColumnValueException",
    /possible statuses are/,
  );
  const raw = await client
    .request(
      `mutation ($b: ID!, $i: ID) {
         a: change_column_value(board_id: $b, item_id: $i, column_id: "formula", value: "1") { id }
         b: change_simple_column_value(board_id: $b, item_id: $i, column_id: "text", value: "b") { id }
       }`,
      { b: board, i: itemId },
    )
    .catch((problem) => problem.response);
  assert.deepEqual(raw.data, { a: null, b: { id: itemId } });
  assert.deepEqual(raw.errors[0].path, ["a"]);

  await refused(
    () => client.request("query ($v: JSON!) { me { id } }", { v: { not: "text" } }),
    "GRAPHQL_VALIDATION_FAILED",
    /never used/,
  );
  const { complexity, version } = await client.request(
    "{ complexity { before query after } version { value kind } }",
  );
  assert.equal(complexity.before - complexity.query, complexity.after);
  assert.deepEqual(version, { value: "2026-10", kind: "current" });

  await assert.rejects(
    () => new ApiClient({ token: "nonsense", endpoint }).operations.getMeOp(),
    (problem) => problem.response.status === 401,
  );
  console.log("the vendor's Node client agrees");
}

main().catch((problem) => {
  console.error(problem);
  process.exit(1);
});
