# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Bugs in src/smbdirect, in the format of mutants.py."""

CONNECTION = "src/smbdirect/connection.c"
MESSAGE = "src/smbdirect/message.c"

SMB = [
    ("smbd-last-credit", "the last credit is used for a message that grants none", CONNECTION,
     " || (c->send_credits == 1 && grant == 0)", ""),
    ("smbd-grant-held", "a receive is granted before it is posted again", CONNECTION,
     "c->config.receive_credits - c->granted - c->held;", "c->config.receive_credits - c->granted;"),
    ("smbd-grant-for-grants", "messages without data are answered with credits at once", CONNECTION,
     "	if (c->data_since)\n		c->grant_now", "	if (true)\n		c->grant_now"),
    ("smbd-no-late-grant", "a peer that used its credits for messages without data gets no new ones", CONNECTION,
     "else if (c->grant_at == ADV_SMBD_NEVER)", "else if (false)"),
    ("smbd-uninvited", "a message without a credit is accepted", CONNECTION,
     "if (c->granted == 0)", "if (false)"),
    ("smbd-too-long", "a message may be longer than negotiated", CONNECTION,
     "c->in_received == 0 && end <= c->config.fragmented_size", "c->in_received == 0"),
    ("smbd-remaining", "the remaining length of a later fragment is not checked", CONNECTION,
     "if (end != c->in_length)", "if (end > c->in_length)"),
    ("smbd-empty-fragment", "a fragment may be empty", CONNECTION,
     "if (t.length == 0 && t.remaining != 0)", "if (false)"),
    ("smbd-respond", "a requested response is not sent", CONNECTION,
     "		c->respond = true;", "		c->respond = false;"),
    ("smbd-keepalive", "a peer that does not respond is kept", CONNECTION,
     "} else if (c->asked) {", "} else if (false) {"),
    ("smbd-send-size", "a SEND is longer than the peer receives", CONNECTION,
     ".length = smaller(left, c->send_size - ADV_SMBD_DATA_OFFSET)", ".length = smaller(left, c->send_size)"),
    ("smbd-data-in-header", "data may begin in the header", MESSAGE,
     "return t->length == 0 || t->offset >= ADV_SMBD_EMPTY_LEN;", "return true;"),
    ("smbd-data-end", "data may end behind the message", MESSAGE,
     " || (uint64_t)t->offset + t->length > length", ""),
]
