import { underLoad } from './under-load';

test('with one of three etcd members dead or frozen everything goes on, new collections too', async () => {
  await underLoad(
    'lose-an-etcd-member',
    { etcdMembers: 3, mayFail: () => false },
    async ({ cluster, writes, lasts }) => {
      for (const [i, member] of cluster.etcdMembers.entries()) {
        if (i === 0) member.pause();
        else await member.kill();
        // Longer than a member waits for its leader.
        await lasts(2_000);
        await cluster.makeCollection(`without-${i}`, i % 2);
        if (i === 0) member.resume();
        else await member.start();
        await writes(25);
      }
    },
  );
});
