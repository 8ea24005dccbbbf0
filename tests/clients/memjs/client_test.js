// memjs, which speaks binary: every method it offers, large values, a pipeline, a restart.
'use strict';
const assert = require('node:assert');
const net = require('node:net');
const test = require('node:test');
const memjs = require('memjs');

const silent = {log() {}};

function restartServer() {
  return new Promise((resolve, reject) => {
    let said = '';
    net.connect(Number(process.env.PODCACHE_CONTROL), '127.0.0.1')
      .on('data', (data) => { said += data; })
      .on('end', () => said === 'done\n' ? resolve() : reject(new Error(said)))
      .on('error', reject);
  });
}

async function withClient(body) {
  const client = memjs.Client.create(process.env.PODCACHE_TCP, {timeout: 30, logger: silent, retries: 3});
  try {
    await client.flush();
    await body(client);
  } finally {
    client.close();
  }
}

async function holds(client, key, want) {
  const {value} = await client.get(key);
  assert.strictEqual(value === null ? null : value.toString(), want);
}

test('storage', () => withClient(async (client) => {
  await holds(client, 'k', null);
  assert.strictEqual(await client.replace('k', '0', {}), false);
  assert.strictEqual(await client.add('k', '1', {}), true);
  assert.strictEqual(await client.add('k', '2', {}), false);
  await holds(client, 'k', '1');
  assert.strictEqual(await client.replace('k', 'b', {expires: 100}), true);
  assert.strictEqual(await client.append('k', 'c'), true);
  assert.strictEqual(await client.prepend('k', 'a'), true);
  await holds(client, 'k', 'bca');  // memjs 1.3.2 sends Append for both.
  await assert.rejects(client.append('missing', 'c'), /not stored/i);
  assert.strictEqual(await client.set('k', '', {}), true);
  await holds(client, 'k', '');
  assert.strictEqual(await client.delete('k'), true);
  assert.strictEqual(await client.delete('k'), false);
  await holds(client, 'k', null);
}));

test('bytes stay what they are', () => withClient(async (client) => {
  const bytes = Buffer.from([...Array(256).keys()]);
  await client.set('k', bytes, {});
  assert.deepStrictEqual((await client.get('k')).value, bytes);
}));

test('numbers', () => withClient(async (client) => {
  assert.strictEqual((await client.increment('n', 5, {initial: 3})).value, 3);
  assert.strictEqual((await client.increment('n', 5, {})).value, 8);
  assert.strictEqual((await client.decrement('n', 100, {})).value, 0);
  assert.strictEqual((await client.decrement('n2', 1, {initial: 7})).value, 7);
  await holds(client, 'n2', '7');
}));

test('touch', () => withClient(async (client) => {
  assert.strictEqual(await client.touch('k', 10), false);
  await client.set('k', 'v', {expires: 100});
  assert.strictEqual(await client.touch('k', 10), true);
  await holds(client, 'k', 'v');
}));

test('large values', () => withClient(async (client) => {
  const large = Buffer.alloc(1024000, '0123456789abcdef');
  assert.strictEqual(await client.set('large', large, {}), true);
  assert.ok((await client.get('large')).value.equals(large));
  await assert.rejects(client.set('large', Buffer.alloc(2000000, 'x'), {}));
  await holds(client, 'large', null);
}));

test('a pipeline of thousands', () => withClient(async (client) => {
  const keys = [...Array(3000).keys()].map((number) => `p${number}`);
  await Promise.all(keys.map((key) => client.set(key, key, {})));
  const found = await Promise.all(keys.map((key) => client.get(key)));
  found.forEach(({value}, at) => assert.strictEqual(value.toString(), keys[at]));
}));

test('statistics', () => withClient(async (client) => {
  const ask = (method, ...args) => new Promise((resolve, reject) => {
    client[method](...args, (error, server, stats) => error ? reject(error) : resolve(stats));
  });
  await client.set('k', 'v', {});
  assert.ok(Number((await ask('stats')).curr_items) >= 1);  // Flushed items may still be counted.
  assert.ok('maxbytes' in await ask('statsWithKey', 'settings'));
  await ask('resetStats');
  assert.strictEqual((await ask('stats')).cmd_set, '0');
}));

test('a restart of the server', () => withClient(async (client) => {
  await client.set('k', 'v', {});
  await restartServer();
  await client.get('k').catch(() => {});
  await holds(client, 'k', null);
  assert.strictEqual(await client.set('k', 'v2', {}), true);
  await holds(client, 'k', 'v2');
}));

test('quit', () => new Promise((resolve, reject) => {
  const client = memjs.Client.create(process.env.PODCACHE_TCP, {timeout: 30, logger: silent});
  client.set('k', 'v', {}, (error) => {
    client.quit();
    error ? reject(error) : resolve();
  });
}));
