"""A worker of BuildGrid: leases actions one after the other, and has buildbox-run execute each.

bot.py ADDRESS NAME FOLDER BUILDBOX-RUN WORD...; with each WORD for buildbox-run. It ends when its parent does.
"""
import ctypes
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import grpc
from buildgrid._protos.build.bazel.remote.execution.v2 import remote_execution_pb2 as execution
from buildgrid._protos.build.bazel.remote.execution.v2 import remote_execution_pb2_grpc as services
from buildgrid._protos.google.devtools.remoteworkers.v1test2 import bots_pb2 as bots
from buildgrid._protos.google.devtools.remoteworkers.v1test2 import bots_pb2_grpc

ADDRESS, NAME, FOLDER, RUN = sys.argv[1:5]
WORDS = sys.argv[5:]
PR_SET_PDEATHSIG = 1
# How long the server may take to have something to do, and how often it is asked whether that is still wanted.
PATIENCE, OFTEN = 30, 0.5


def ends_with_parent():
    """Has the kernel end this process with its parent."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Bot:
    def __init__(self):
        channel = grpc.insecure_channel(ADDRESS)
        self.server, self.contents = bots_pb2_grpc.BotsStub(channel), services.ContentAddressableStorageStub(channel)
        self.session = bots.BotSession(bot_id=NAME, status=1)
        device = self.session.worker.devices.add(handle=NAME)
        for key, value in (("OSFamily", "linux"), ("ISA", "x86-64")):
            device.properties.add(key=key, value=value)
        request = bots.CreateBotSessionRequest(bot_session=self.session)
        # The server may not be there yet.
        self.session = self.server.CreateBotSession(request, timeout=PATIENCE, wait_for_ready=True)

    def update(self):
        """Says how far the leases are, and learns what they are now."""
        request = bots.UpdateBotSessionRequest(name=self.session.name, bot_session=self.session)
        self.session = self.server.UpdateBotSession(request, timeout=PATIENCE)

    def action_of(self, lease):
        action = execution.Action()
        if not lease.payload.Unpack(action):
            digest = execution.Digest()
            lease.payload.Unpack(digest)
            read = self.contents.BatchReadBlobs(execution.BatchReadBlobsRequest(digests=[digest]))
            action.ParseFromString(read.responses[0].data)
        return action

    def execute(self, lease):
        """Executes what is leased, as long as somebody wants it."""
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            files = {name: pathlib.Path(folder, name) for name in ("action", "result")}
            files["action"].write_bytes(self.action_of(lease).SerializeToString())
            command = [RUN, f"--remote=http://{ADDRESS}", "--disable-localcas", "--staging-mode=copy-or-link",
                       f"--action={files['action']}", f"--action-result={files['result']}", *WORDS]
            runner = subprocess.Popen(command, preexec_fn=ends_with_parent)
            while runner.poll() is None:
                time.sleep(OFTEN / 10)
                if time.monotonic() - self.asked < OFTEN:
                    continue
                self.asked = time.monotonic()
                self.update()
                if not any(its.id == lease.id and its.state == bots.ACTIVE for its in self.session.leases):
                    runner.terminate()
                    runner.wait()
                    return
            result = execution.ActionResult()
            if files["result"].exists():
                result.ParseFromString(files["result"].read_bytes())
            result.execution_metadata.worker = NAME
        for its in self.session.leases:
            if its.id == lease.id:
                its.result.Pack(result)
                its.state = bots.COMPLETED

    def work(self):
        while True:
            for lease in self.session.leases:
                if lease.state == bots.PENDING:
                    lease.state = bots.ACTIVE
            self.update()
            self.asked = time.monotonic()
            active = [lease for lease in self.session.leases if lease.state == bots.ACTIVE]
            for lease in active:
                self.execute(lease)


ends_with_parent()
Bot().work()
