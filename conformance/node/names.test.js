'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const { eventually, get, newClient, newReceiver, tomorrow } = require('./client');

for (const name of ['täglich', 'カフェ', '👩‍💻🚀', '\u212a', "Bericht (1) 'neu'"]) {
  test(`a job and a collection named ${name}`, async (t) => {
    const client = newClient(t);
    const receiver = await newReceiver(t);
    const group = 'gruppe ü';
    const made = await client.jobCollections.createOrUpdate(group, name, { properties: { sku: { name: 'Standard' } } });
    assert.equal(made.name, name);
    const properties = { action: get(`${receiver.url}/`), startTime: tomorrow(), recurrence: { frequency: 'Day' } };
    const created = await client.jobs.createOrUpdate(group, name, name, { properties });
    assert.equal(created.name, `${name}/${name}`);
    assert.ok(created.id.endsWith(`/resourceGroups/${group}/providers/Microsoft.Scheduler/jobCollections/${name}/jobs/${name}`));
    assert.deepEqual((await client.jobs.list(group, name)).map((j) => j.id), [created.id]);

    await client.jobs.run(group, name, name);
    await eventually('run of the job', async () => (await client.jobs.listJobHistory(group, name, name))[0]);
    assert.equal(decodeURIComponent(receiver.requests[0].headers['x-ms-scheduler-jobid']), name);
    assert.equal((await client.jobs.patch(group, name, name, { properties: { state: 'disabled' } })).id, created.id);
    await client.jobCollections.enable(group, name);
    await client.jobs.deleteMethod(group, name, name);
    await assert.rejects(client.jobs.get(group, name, name), { statusCode: 404 });
  });
}
