import { ClientDuplexStreamImpl } from '@grpc/grpc-js/build/src/call';
import {
  administrationDefinition,
  type AdministrationRequest,
  type WireReport,
} from '../../shared/wire/administration';
import { LossyRequestService } from '../../shared/wire/streams/lossy-request-service';
import { RpcChannel, type RpcStream } from '../../shared/wire/streams/rpc-channel';
import { RpcServer } from '../../shared/wire/streams/rpc-server';
import { eventually } from '../support/eventually';
import { PLAIN } from '../support/cluster/rpc-node';

/**
 * Node's HTTP/2 must not be told to reset a stream within the callback that brings something of it (nodejs/node#38964,
 * #39076): it then may send without end, or touch memory that it has freed. That takes luck to be seen, so what is
 * looked at here is when the library is told.
 */

let server: RpcServer;
let channel: RpcChannel;
/** Whether each cancellation reached the library while a callback of the stream was running. */
let cancelledWithin: boolean[];
let isWithin: boolean;

beforeEach(async () => {
  const service = new LossyRequestService<AdministrationRequest, WireReport>({
    definition: administrationDefinition,
    answer: async () => ({ report: { shards: [] }, digest: null }),
    onError: () => undefined,
  });
  server = new RpcServer({ services: [service], ...PLAIN });
  channel = new RpcChannel({ address: `127.0.0.1:${await server.listen('127.0.0.1:0')}`, credentials: PLAIN });
  cancelledWithin = [];
  isWithin = false;
  const { cancel } = ClientDuplexStreamImpl.prototype;
  jest.spyOn(ClientDuplexStreamImpl.prototype, 'cancel').mockImplementation(function (
    this: ClientDuplexStreamImpl<unknown, unknown>,
  ) {
    cancelledWithin.push(isWithin);
    cancel.call(this);
  });
});

afterEach(async () => {
  jest.restoreAllMocks();
  channel.close();
  await server.close(0);
});

test.each(['ready', 'frame', 'ended'] as const)(
  'a stream that is cancelled while "%s" is told is cancelled in a later turn',
  async (moment) => {
    let ended = false;
    const cancelAt = (now: typeof moment): void => {
      if (now !== moment) return;
      isWithin = true;
      stream.cancel();
      isWithin = false;
    };
    const stream: RpcStream<AdministrationRequest> = channel.open<AdministrationRequest, WireReport>(
      administrationDefinition.Exchange as never,
      {
        ready: () => cancelAt('ready'),
        frame: () => cancelAt('frame'),
        ended: () => {
          ended = true;
          cancelAt('ended');
        },
      },
    );
    stream.write({ id: 1, probe: true, digestOf: null }, () => undefined);
    if (moment === 'ended') stream.finish();
    await eventually('the stream is over', () => ended && cancelledWithin.length > 0);
    expect(cancelledWithin).toEqual([false]);
  },
);
