#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests of pages.py: which outputs are those of a page."""

import pathlib
import sys
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent)]
sys.dont_write_bytecode = True

import pages  # noqa: E402

PAGE = """text
```console
$ adverb res
qp 0x001234   of 20017
$ a \\
  b
```
<!-- numbers vary -->
```console
$ adverb stat
first 7
...
last 8
```
```
$ no console
```
"""


class Pages(unittest.TestCase):
    def setUp(self):
        self.first, self.second = pages.blocks(PAGE)

    def same(self, block, step, text):
        return block.steps[step].matches(text.splitlines(), block.vary)

    def test_blocks(self):
        self.assertEqual([s.command for s in self.first.steps], ["adverb res", "a \\\n  b"])
        self.assertEqual((self.first.vary, self.second.vary), (None, "numbers"))

    def test_names_and_ids_vary(self):
        self.assertTrue(self.same(self.first, 0, "qp 0x00ffff of 31000"))
        for other in ("qp 0x00ffff of 3", "mr 0x00ffff of 31000", "", "qp 0x1234 of 20017\nmore"):
            self.assertFalse(self.same(self.first, 0, other), other)

    def test_numbers_vary_where_the_page_says_so(self):
        self.assertTrue(self.same(self.second, 0, "first 1\nlast 2"))
        self.assertTrue(self.same(self.second, 0, "first 1\nx\ny\nlast 22"))
        for other in ("first 1", "first 1\nx", "last 2", "first 1\nlast 2\nx"):
            self.assertFalse(self.same(self.second, 0, other), other)

    def test_rest_of_a_line(self):
        block = pages.blocks("```console\n$ adverb stat\na 1 b 0x2f05 ...\nc\n```\n")[0]
        self.assertTrue(self.same(block, 0, "a 1 b 0x3333 c 4\nc"))
        for other in ("a 1 c 0x3333\nc", "a 1\nc", "a 1 b 0x3333 c 4"):
            self.assertFalse(self.same(block, 0, other), other)

    def test_values_vary_where_the_page_says_so(self):
        block = pages.blocks("<!-- values vary -->\n```console\n$ adverb top\nTX 3.2M -\n```\n")[0]
        self.assertTrue(self.same(block, 0, "TX  410k   53.2u"))
        self.assertFalse(self.same(block, 0, "RX 3.2M -"))

    def test_constants_and_exact_commands(self):
        block = pages.blocks("```console\n$ adverb sim x\n20017 frames\n$ adverb res\nMTU 4096\n```\n")[0]
        self.assertTrue(self.same(block, 0, "20017 frames"))
        self.assertFalse(self.same(block, 0, "20018 frames"))
        self.assertFalse(self.same(block, 1, "MTU 1024"))

    def test_pasted(self):
        text = "```console\n$ a &\n$ sleep 1; b\n$ c &\n$ wait\n$ d &\n$ e\n```\n"
        self.assertEqual(pages.unpaused(pages.blocks(text)[0]), ["e"])

    def test_update(self):
        self.second.steps[0].output = ["new"]
        text = pages.replaced(PAGE, [self.first, self.second])
        self.assertIn("$ adverb stat\nnew\n```", text)
        self.assertIn("qp 0x001234   of 20017\n$ a \\\n  b\n```", text)

    def test_output_before_a_command(self):
        self.assertRaises(ValueError, pages.blocks, "```console\noutput\n```\n")


if __name__ == "__main__":
    unittest.main()
