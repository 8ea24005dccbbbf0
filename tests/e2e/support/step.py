"""Base of all steps: the shared environment, and a note of failure so that diagnostics are saved."""
import unittest

from . import environment


class Step(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.env = environment.get()
        cls.cluster = cls.env.cluster

    def run(self, result=None):
        before = result and len(result.failures) + len(result.errors)
        super().run(result)
        if result and len(result.failures) + len(result.errors) > before:
            self.env.failed = True
        return result

    def assert_no_harm(self):
        """No client error, no wrong value, no restart, no OOM kill, still the same pod."""
        found = self.env.client_errors()
        self.assertEqual((found["errors"], found["wrong"]), (0, 0), found["lastError"])
        self.assertEqual(self.env.web.restarts(), 0)
        self.assertEqual(self.env.web.oom_kills(), 0)
        self.assertEqual(self.env.web.read()["metadata"]["uid"], self.env.web.uid)
