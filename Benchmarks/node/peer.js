// What a Node backend does with the same bytes. Runs one round for every line that it reads, and answers with the
// nanoseconds of processor time that one run took.
//   peer.js stripe FILE SECRET    MAC, constant-time comparison, JSON.parse
//   peer.js json FILE             JSON.parse
const { createHmac, timingSafeEqual } = require('node:crypto');
const { readFileSync } = require('node:fs');
const { createInterface } = require('node:readline');

const [what, file, secret] = process.argv.slice(2);
const body = readFileSync(file);
const time = '1772300001';
const iterations = 400;

const works = {
  stripe() {
    const signature = createHmac('sha256', secret).update(`${time}.`).update(body).digest('hex');
    return () => {
      const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest();
      if (!timingSafeEqual(expected, Buffer.from(signature, 'hex'))) throw new Error('signature');
      return JSON.parse(body.toString('utf8')).id.length;
    };
  },
  json() {
    return () => Object.keys(JSON.parse(body.toString('utf8'))).length;
  },
};

const receive = works[what]();
let sum = 0;
createInterface({ input: process.stdin }).on('line', () => {
  const start = process.cpuUsage();
  for (let index = 0; index < iterations; index += 1) sum += receive();
  const { user, system } = process.cpuUsage(start);
  console.log(((user + system) * 1000) / iterations);
});
