/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/wire/opcode.h"

/* Bytes of the BTH (12) and of the extended headers in the set h (IBTA 9.2 to 9.3, A14.3, A19). */
#define LENGTH(h)                                                                                  \
	(12 + ((h)&ADV_HAS_DETH ? 8 : 0) + ((h)&ADV_HAS_XRCETH ? 4 : 0) +                          \
	 ((h)&ADV_HAS_FETH ? 4 : 0) + ((h)&ADV_HAS_RETH ? 16 : 0) +                                \
	 ((h)&ADV_HAS_ATOMICETH ? 28 : 0) + ((h)&ADV_HAS_AETH ? 4 : 0) +                           \
	 ((h)&ADV_HAS_ATOMICACKETH ? 8 : 0) + ((h)&ADV_HAS_IMMDT ? 4 : 0) +                        \
	 ((h)&ADV_HAS_IETH ? 4 : 0) + ((h)&ADV_HAS_CNP_PAD ? 16 : 0))

#define ROW(service, op, h, f)                                                                     \
	[ADV_SERVICE_##service | ADV_OP_##op] = {                                                  \
		.name = #service " " #op, .headers = (h), .flags = (f), .length = LENGTH(h)}

#define START	 ADV_PKT_START
#define END	 ADV_PKT_END
#define ONLY	 (ADV_PKT_START | ADV_PKT_END)
#define SEND	 (ADV_PKT_REQUEST | ADV_PKT_SEND | ADV_PKT_PAYLOAD)
#define WRITE	 (ADV_PKT_REQUEST | ADV_PKT_WRITE | ADV_PKT_PAYLOAD)
#define READ	 (ADV_PKT_REQUEST | ADV_PKT_READ)
#define ATOMIC	 (ADV_PKT_REQUEST | ADV_PKT_ATOMIC)
#define READ_RSP (ADV_PKT_RESPONSE | ADV_PKT_READ | ADV_PKT_PAYLOAD)
#define RETH	 ADV_HAS_RETH
#define IMMDT	 ADV_HAS_IMMDT
#define AETH	 ADV_HAS_AETH

/* Table entries for SEND and WRITE of RC, UC and XRC. x: further headers of each packet. */
#define SEND_AND_WRITE(service, x)                                                                 \
	ROW(service, SEND_FIRST, x, START | SEND), ROW(service, SEND_MIDDLE, x, SEND),             \
		ROW(service, SEND_LAST, x, END | SEND),                                            \
		ROW(service, SEND_LAST_WITH_IMM, (x) | IMMDT, END | SEND),                         \
		ROW(service, SEND_ONLY, x, ONLY | SEND),                                           \
		ROW(service, SEND_ONLY_WITH_IMM, (x) | IMMDT, ONLY | SEND),                        \
		ROW(service, WRITE_FIRST, (x) | RETH, START | WRITE),                              \
		ROW(service, WRITE_MIDDLE, x, WRITE), ROW(service, WRITE_LAST, x, END | WRITE),    \
		ROW(service, WRITE_LAST_WITH_IMM, (x) | IMMDT, END | WRITE),                       \
		ROW(service, WRITE_ONLY, (x) | RETH, ONLY | WRITE),                                \
		ROW(service, WRITE_ONLY_WITH_IMM, (x) | RETH | IMMDT, ONLY | WRITE)

/* Table entries for requests and responses of the reliable services. x: further headers of each
 * request. */
#define RELIABLE(service, x)                                                                       \
	ROW(service, SEND_LAST_WITH_INV, (x) | ADV_HAS_IETH, END | SEND),                          \
		ROW(service, SEND_ONLY_WITH_INV, (x) | ADV_HAS_IETH, ONLY | SEND),                 \
		ROW(service, READ_REQUEST, (x) | RETH, ONLY | READ),                               \
		ROW(service, COMPARE_SWAP, (x) | ADV_HAS_ATOMICETH, ONLY | ATOMIC),                \
		ROW(service, FETCH_ADD, (x) | ADV_HAS_ATOMICETH, ONLY | ATOMIC),                   \
		ROW(service, FLUSH, (x) | ADV_HAS_FETH | RETH, ONLY | ADV_PKT_REQUEST),            \
		ROW(service, ATOMIC_WRITE, (x) | RETH, ONLY | ADV_PKT_REQUEST | ADV_PKT_PAYLOAD),  \
		ROW(service, READ_RESPONSE_FIRST, AETH, START | READ_RSP),                         \
		ROW(service, READ_RESPONSE_MIDDLE, 0, READ_RSP),                                   \
		ROW(service, READ_RESPONSE_LAST, AETH, END | READ_RSP),                            \
		ROW(service, READ_RESPONSE_ONLY, AETH, ONLY | READ_RSP),                           \
		ROW(service, ACKNOWLEDGE, AETH, ONLY | ADV_PKT_RESPONSE),                          \
		ROW(service, ATOMIC_ACKNOWLEDGE, AETH | ADV_HAS_ATOMICACKETH,                      \
		    ONLY | ADV_PKT_RESPONSE | ADV_PKT_ATOMIC)

const struct adv_opcode_info adv_opcode_table[256] = {
	SEND_AND_WRITE(RC, 0),
	RELIABLE(RC, 0),
	SEND_AND_WRITE(UC, 0),
	ROW(UD, SEND_ONLY, ADV_HAS_DETH, ONLY | SEND),
	ROW(UD, SEND_ONLY_WITH_IMM, ADV_HAS_DETH | IMMDT, ONLY | SEND),
	SEND_AND_WRITE(XRC, ADV_HAS_XRCETH),
	RELIABLE(XRC, ADV_HAS_XRCETH),
	[ADV_OPCODE_PROBE] = {.name = "PROBE",
			      .headers = ADV_HAS_DETH,
			      .flags = ONLY,
			      .length = LENGTH(ADV_HAS_DETH)},
	[ADV_OPCODE_ANSWER] = {.name = "ANSWER",
			       .headers = ADV_HAS_DETH,
			       .flags = ONLY,
			       .length = LENGTH(ADV_HAS_DETH)},
	[ADV_OPCODE_CNP] = {.name = "CNP",
			    .headers = ADV_HAS_CNP_PAD,
			    .flags = ONLY,
			    .length = LENGTH(ADV_HAS_CNP_PAD)},
};
