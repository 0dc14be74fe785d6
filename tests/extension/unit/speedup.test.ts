import assert from 'node:assert/strict';
import test from 'node:test';
import type { ProbeState } from '../../../extension/src/protocol';
import { SpeedUps, statusLine } from '../../../extension/src/speedup';

const translate = (template: string, ...values: string[]): string => template.replace(/\{(\d)\}/g, (_match, index) => values[Number(index)] ?? '');
const done: ProbeState = { uri: 'file:///a.py', target: 'f', state: 'done', stage: null, status: 'ok', text: 'CPU 1.58x', detail: '', message: null, result: null };

test('only a number that was measured now looks like one', () => {
  const text = (changes: Partial<ProbeState>): string => statusLine({ ...done, ...changes }, translate).text;
  assert.equal(text({}), '$(zap) CPU 1.58x');
  assert.equal(text({ state: 'running', stage: 'compile' }), '$(sync~spin) probing: compile');
  assert.equal(text({ state: 'running', stage: null }), '$(sync~spin) probing');
  assert.equal(text({ state: 'stale' }), '$(history) CPU 1.58x');
  assert.equal(text({ status: 'timeout', text: 'not measured', message: 'It took too long.' }), '$(circle-slash) not measured');
  assert.equal(text({ text: 'not measured', message: 'Compiled and eager differ.' }), '$(circle-slash) not measured');
});

test('a screen reader hears no icon, and hears that a number is old', () => {
  assert.equal(statusLine(done, translate).label, 'CPU 1.58x');
  assert.equal(statusLine({ ...done, state: 'stale' }, translate).label, 'CPU 1.58x, measured before the last change');
});

test('the target that changed last speaks for its document', () => {
  const known = new SpeedUps();
  known.update(done);
  known.update({ ...done, target: 'g' });
  known.update({ ...done, uri: 'file:///b.py', target: 'h' });
  assert.equal(known.latest('file:///a.py')?.target, 'g');
  known.update({ ...done, state: 'stale' });
  known.update({ ...done, target: 'g', state: 'stale' });
  assert.equal(known.latest('file:///a.py')?.target, 'g');
  known.update({ ...done, target: 'g', state: 'cleared' });
  assert.deepEqual([known.latest('file:///a.py')?.target, known.latest('file:///a.py')?.state], ['f', 'stale']);
  known.clear();
  assert.equal(known.latest('file:///b.py'), undefined);
});
