// A Service Bus namespace of a few queues and topics, in memory: AMQP 1.0 over
// TLS, with claims-based security by shared access signatures. It does what a
// sender can tell from the real service, and fails where it is told to, over
// HTTP. Its one argument is the configuration.
'use strict';

const crypto = require('crypto');
const fs = require('fs');
const http = require('http');
const rhea = require(require.resolve('rhea', { paths: [process.cwd()] }));

const maxMessageSize = 256 * 1024;

// {port, certFile, keyFile, keyName, key, queues: [{name, detectDuplicates}], topics: [{name, subscriptions}]}
const config = JSON.parse(process.argv[process.argv.length - 1]);
const entities = new Map(); // by lower-cased path; a topic's subscriptions are paths of their own
const failures = []; // what is to go wrong next: {entity, at, how, status, condition, description, stored, times}
const connections = new Set();
const senders = new Set(); // links that clients send to entities over
const stats = { connections: 0, links: 0, tokens: 0, transfers: 0 };

// Entities.

class Queue {
  constructor(detectDuplicates) {
    this.messages = [];
    this.receivers = new Set();
    this.seen = detectDuplicates ? new Set() : null;
  }

  put(message) {
    if (this.seen && this.seen.has(message.message_id)) return;
    if (this.seen) this.seen.add(message.message_id);
    const due = (message.message_annotations || {})['x-opt-scheduled-enqueue-time'];
    if (due && +due > Date.now()) {
      setTimeout(() => this.add(message), +due - Date.now()).unref();
      return;
    }
    this.add(message);
  }

  add(message) {
    this.messages.push({ message, expires: message.ttl ? Date.now() + message.ttl : Infinity });
    this.deliver();
  }

  deliver() {
    for (const receiver of this.receivers) {
      while (this.messages.length > 0 && receiver.sendable()) {
        const stored = this.messages.shift();
        if (stored.expires <= Date.now()) continue;
        const delivery = receiver.send(stored.message, crypto.randomBytes(16)); // the tag is the lock token
        delivery.stored = stored;
      }
    }
  }
}

class Topic {
  constructor(subscriptions) { this.subscriptions = subscriptions; }
  put(message) { for (const s of this.subscriptions) s.put(message); }
}

function createEntities() {
  for (const q of config.queues || []) entities.set(q.name.toLowerCase(), new Queue(q.detectDuplicates));
  for (const t of config.topics || []) {
    const subscriptions = t.subscriptions.map((name) => {
      const s = new Queue(false);
      entities.set(`${t.name}/subscriptions/${name}`.toLowerCase(), s);
      return s;
    });
    entities.set(t.name.toLowerCase(), new Topic(subscriptions));
  }
}

// nextFailure takes what is to go wrong with an entity at this point, if anything is.
function nextFailure(entity, at) {
  const i = failures.findIndex((f) => f.entity === entity && f.at === at);
  if (i < 0) return null;
  const failure = failures[i];
  if (--failure.times === 0) failures.splice(i, 1);
  return failure;
}

// Claims: a token lets its connection use what its audience covers until it expires.

function putToken(connection, message) {
  const properties = message.application_properties || {};
  const fields = new URLSearchParams(String(message.body).replace(/^SharedAccessSignature /, ''));
  const signed = String(message.body).match(/sr=([^&]*)/);
  const expiry = Number(fields.get('se'));
  const signature = crypto.createHmac('sha256', config.key).update(`${signed && signed[1]}\n${fields.get('se')}`).digest('base64');
  const audience = String(properties.name).toLowerCase();
  const resource = String(fields.get('sr')).toLowerCase();
  stats.tokens++;
  if (properties.operation !== 'put-token' || properties.type !== 'servicebus.windows.net:sastoken') return [400, 'Unsupported token.'];
  if (fields.get('skn') !== config.keyName) return [401, 'InvalidSignature: The key name is not known.'];
  if (fields.get('sig') !== signature) return [401, 'InvalidSignature: The token has an invalid signature.'];
  if (!(expiry > Date.now() / 1000)) return [401, 'ExpiredToken: The token is expired.'];
  if (!covers(resource, audience)) return [401, 'InvalidAudience: The authorization header contains a token for another resource.'];
  const failure = nextFailure(audience.replace(/^amqps:\/\/[^/]*\//, ''), 'token');
  if (failure) return [failure.status, failure.description];
  connection.claims.set(audience, expiry);
  return [202, 'Accepted'];
}

function covers(resource, path) { return path === resource || path.startsWith(resource.replace(/\/*$/, '/')); }

function isAuthorized(connection, entity) {
  const path = `amqps://${connection.hostname}/${entity}`.toLowerCase();
  for (const [audience, expiry] of connection.claims) {
    if (covers(audience, path) && expiry > Date.now() / 1000) return true;
  }
  return false;
}

// Links.

function address(terminus) { return terminus && terminus.address || undefined; }

// attach answers a client's attach with what it asked for.
function attach(link, path) {
  link.path = path.toLowerCase();
  link.set_source({ address: address(link.source) });
  link.set_target({ address: address(link.target) });
  link.local.attach.snd_settle_mode = link.snd_settle_mode;
  link.local.attach.rcv_settle_mode = link.rcv_settle_mode;
}

// refuse answers an attach with one that has no terminus, and a detach that
// says why, as the protocol wants it.
function refuse(link, condition, description) {
  link.refused = true;
  link.close({ condition, description });
}

// admit reports whether a link may be attached to a path, and refuses it where
// it may not.
function admit(link, path) {
  const entity = path.toLowerCase().replace(/\/\$management$/, '');
  if (entity === '$cbs') return true;
  const failure = nextFailure(entity, 'attach');
  if (failure && failure.how === 'drop') {
    link.refused = true;
    link.connection.peer.socket.destroy();
  } else if (failure) {
    refuse(link, failure.condition, failure.description);
  } else if (!isAuthorized(link.connection.peer, entity)) {
    refuse(link, 'amqp:unauthorized-access', `Unauthorized access. 'Send' claim(s) are required to perform this operation. Resource: '${path}'.`);
  } else if (!entities.has(entity)) {
    refuse(link, 'amqp:not-found', `The messaging entity '${path}' could not be found.`);
  }
  return !link.refused;
}

// claims reports whether a link may be the one to $cbs that a connection has at
// a time, and refuses it where it may not.
function claims(link) {
  const { peer } = link.connection;
  if (peer.claiming && peer.claiming.is_open()) {
    refuse(link, 'amqp:not-allowed', 'The connection has a link to $cbs.');
  } else {
    peer.claiming = link.session;
  }
  return !link.refused;
}

function onSenderAttached({ receiver: link }) { // the client sends, so this end receives
  const path = address(link.target) || '';
  if (!admit(link, path)) return;
  if (path === '$cbs' && !claims(link)) return;
  attach(link, path);
  link.add_credit(100);
  if (link.path === '$cbs') return;
  senders.add(link);
  stats.links++;
}

function onReceiverAttached({ sender: link }) {
  const path = address(link.source) || '';
  if (!admit(link, path)) return;
  attach(link, path);
  const queue = entities.get(link.path);
  if (queue instanceof Queue) queue.receivers.add(link);
}

function onReceiverGone({ sender: link }) {
  const queue = entities.get(link.path);
  if (queue instanceof Queue) queue.receivers.delete(link);
}

function onMessage({ message, delivery, receiver: link, connection }) {
  link.add_credit(1);
  if (link.path === '$cbs') {
    const [code, description] = putToken(connection.peer, message);
    delivery.accept();
    reply(link.session, message, code, description);
    return;
  }
  stats.transfers++;
  const failure = nextFailure(link.path, 'transfer');
  if (!failure || failure.stored) entities.get(link.path).put(message);
  if (!failure) return delivery.accept();
  switch (failure.how) {
    case 'reject': return delivery.reject({ condition: failure.condition, description: failure.description });
    case 'release': return delivery.release();
    case 'detach': return link.close({ condition: failure.condition, description: failure.description });
    case 'drop': return connection.peer.socket.destroy();
    case 'ignore': return;
  }
}

function reply(session, request, code, description) {
  const link = session.find_sender((s) => s.path === '$cbs' && s.target.address === request.reply_to);
  if (!link) return;
  link.send({
    correlation_id: request.message_id,
    application_properties: { 'status-code': rhea.types.wrap_int(code), 'status-description': description },
  });
}

function dispatch({ sender: link }) {
  const queue = entities.get(link.path);
  if (queue instanceof Queue) queue.deliver();
  link.set_drained(true);
}

// settle confirms what a client made of a message, where it waits for that.
function settle({ delivery }) {
  if (!delivery.remote_settled) delivery.update(true);
}

function onReleased({ delivery, sender: link }) {
  const queue = entities.get(link.path);
  if (queue instanceof Queue && delivery.stored) queue.messages.unshift(delivery.stored);
  settle({ delivery });
}

// Connections and commands.

function forget(connection) {
  connections.delete(connection.peer);
  for (const link of senders) if (link.connection === connection) senders.delete(link);
  for (const queue of entities.values()) {
    if (!(queue instanceof Queue)) continue;
    for (const link of queue.receivers) if (link.connection === connection) queue.receivers.delete(link);
  }
}

const container = rhea.create_container({ id: 'servicebus' });
container.sasl_server_mechanisms.enable_anonymous();
container.on('connection_open', ({ connection }) => {
  connection.peer = { hostname: connection.hostname, claims: new Map(), socket: connection.socket };
  connections.add(connection.peer);
  stats.connections++;
});
container.on('disconnected', ({ connection }) => forget(connection));
container.on('connection_close', ({ connection }) => forget(connection));
container.on('receiver_open', onSenderAttached);
container.on('receiver_close', ({ receiver }) => senders.delete(receiver));
container.on('sender_open', onReceiverAttached);
container.on('sender_close', onReceiverGone);
container.on('message', onMessage);
container.on('sendable', dispatch);
container.on('sender_draining', dispatch);
container.on('accepted', settle);
container.on('rejected', settle);
container.on('released', onReleased);
container.on('error', () => {});
container.on('protocol_error', () => {});

function listen() {
  const server = container.listen({
    host: '127.0.0.1', port: config.port, transport: 'tls', cert: fs.readFileSync(config.certFile), key: fs.readFileSync(config.keyFile),
    receiver_options: { autoaccept: false, credit_window: 0, max_message_size: maxMessageSize },
  });
  server.on('tlsClientError', () => {}); // a client's errors are the client's
  server.on('secureConnection', (socket) => socket.setNoDelay());
  return server;
}

const commands = {
  '/fail': (failure) => { failures.push({ ...failure, entity: failure.entity.toLowerCase() }); },
  '/drop': () => { for (const c of connections) c.socket.destroy(); },
  '/detach': ({ condition, description }) => { for (const link of senders) link.close({ condition, description }); },
  '/stats': () => ({ ...stats, open: connections.size }),
};

const control = http.createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => { body += chunk; });
  request.on('end', () => response.end(JSON.stringify(commands[request.url](JSON.parse(body)) || {})));
});

createEntities();
const server = listen();
server.on('listening', () => control.listen(0, '127.0.0.1', () => {
  console.log(`listening on ${server.address().port} ${control.address().port}`);
}));
