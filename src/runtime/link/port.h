/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A port of an emulated fabric (src/fabric/emulator). A process of an emulated host has a pair of
 * rings (runtime/link/ring.h) with the emulator. Packets to other hosts of the fabric go through
 * these rings; the emulator passes them through simulated switches.
 *
 * A host is a network namespace. The emulator listens there on a socket with the name
 * ADV_PORT_NAME, so a process finds out by connecting whether it is on an emulated host. A message
 * on that socket is a struct adv_port_message.
 */
#ifndef ADV_RUNTIME_LINK_PORT_H
#define ADV_RUNTIME_LINK_PORT_H

#include "runtime/link/link.h"

/* The name of the emulator's socket is ADV_PORT_NAME "-" and the effective user id, in the abstract
 * namespace of unix(7). The sockets have type SOCK_SEQPACKET. */
#define ADV_PORT_NAME	 "adverb-fabric"
#define ADV_PORT_VERSION 3u

enum adv_port_type {
	ADV_PORT_ATTACH = 1, /* gives the process rings; first, count: its QP number prefixes */
	ADV_PORT_CLAIM,	     /* further prefixes of an attached process; no answer */
	ADV_PORT_ENTER,	     /* requests the namespaces of the host that `text` names */
	ADV_PORT_STATUS,     /* requests the state of the fabric, as JSON in a memfd */
	ADV_PORT_DOWN,	     /* ends the emulator; a descriptor, if any, gets the report */
	ADV_PORT_CABLE,	     /* changes a cable: `text` is such as "s1:4 down" */
	/* Begins a capture at the end of a cable that `text` names, such as "s1:4", until the
	 * connection ends. first: bytes of a frame to keep. The answer has the ring of
	 * runtime/link/tap_ring.h, of `count` bytes. A record without headers is a whole frame: of
	 * PFC. */
	ADV_PORT_CAPTURE,
};

/* What a process needs to know about the fabric. Integers are in host byte order. */
struct adv_port_place {
	uint32_t host;	     /* of this process, from 0 */
	uint32_t hosts;	     /* of the fabric */
	uint32_t network;    /* IPv4 address of host 0; that of host n is n higher */
	uint32_t speed_mbps; /* of the host's cable, as the process sees it */
	uint32_t numerator;  /* virtual time is the clock's time x numerator / denominator */
	uint32_t denominator;
	uint32_t tx_size; /* bytes of records of the ring to the emulator */
	uint32_t rx_size;
};

struct adv_port_message {
	uint32_t version; /* ADV_PORT_VERSION */
	uint32_t type;	  /* enum adv_port_type */
	uint32_t error;	  /* answers: 0 or errno */
	uint32_t first;	  /* prefix of QP numbers (nic/wire/slot.h) */
	uint32_t count;
	struct adv_port_place place; /* answer to ADV_PORT_ATTACH */
	char text[256];		     /* ends with a zero byte; answers: the reason of an error */
};

/* Descriptors of the answer to ADV_PORT_ATTACH, in this order. */
enum adv_port_fd {
	ADV_PORT_MEMORY, /* sealed: ring to the emulator, ring from it, struct adv_port_flag */
	ADV_PORT_ROOM,	 /* socket: not writable while the process waits for room in its ring */
	ADV_PORT_TIME,	 /* memory that cannot be written: struct adv_port_time */
	ADV_PORT_FDS,
};

/* The process sets `full` after it has made the room socket unwritable. */
struct adv_port_flag {
	_Atomic uint32_t full;
};

/* The `sport` of a record in a port's ring: a RoCE v1 frame has no UDP port, but a service level.
 * RoCE v2 uses no port below 1024. */
static inline uint16_t adv_port_v1_sport(uint8_t sl)
{
	return (uint16_t)(1 + (sl & 7));
}

static inline bool adv_port_sport_is_v1(uint16_t sport)
{
	return sport >= 1 && sport <= 8;
}

/* Returns the length of the shared memory. */
size_t adv_port_memory_len(const struct adv_port_place *place);

/* Returns the host with this GID; UINT32_MAX: none. A host has two GIDs: its IPv4 address, and the
 * link-local address of its MAC address. */
uint32_t adv_port_host_of(const struct adv_port_place *place, const struct adv_gid *gid);
/* Writes the GID of a host: the IPv4 address, or if `local` the link-local one. */
void adv_port_gid(const struct adv_port_place *place, uint32_t host, bool local,
		  struct adv_gid *gid);
/* Writes the MAC address of a host. */
void adv_port_mac(uint32_t host, uint8_t mac[6]);

/* Connects to the emulator of this network namespace. Returns the socket, or -1 with errno:
 * ECONNREFUSED: this is no emulated host; EPERM: the listening process is of another user. */
int adv_port_dial(void);

/* Sends a message with `count` descriptors, at most ADV_RIGHTS_SEVERAL, without blocking. Sets its
 * version. 0 or errno. */
int adv_port_send(int sock, struct adv_port_message *m, const int *fd, unsigned count);
/* Receives a message and at most `most` descriptors, which then belong to the caller; the rest of
 * fd[] becomes -1. wait: block until a message arrives. 0, or errno: EPROTO: it is not of this
 * version. */
int adv_port_receive(int sock, struct adv_port_message *m, int *fd, unsigned most, bool wait);

/*
 * Wraps `inner`, a link of shm.h or udp.h: packets to other hosts of the fabric go through the
 * emulator, those to the own host through `inner`. Packets of a v1 path are RoCE v1 frames for the
 * emulator. Packets to other unicast addresses are dropped,
 * because they would pass beside the fabric. The process owns `count` prefixes of QP numbers from
 * `first` on. The new link owns `inner`.
 *
 * Returns NULL with errno, and `inner` still belongs to the caller. ECONNREFUSED: this is no
 * emulated host.
 */
struct adv_link *adv_port_create(struct adv_link *inner, uint32_t first, uint32_t count);

/* Packets to further QP numbers are for this process. Returns 0 or errno. */
int adv_port_claim(struct adv_link *link, uint32_t first, uint32_t count);

const struct adv_port_place *adv_port_place_of(const struct adv_link *link);

/* Returns the time of the clock of the fabric's devices (runtime/link/port_clock.h), ns, at the
 * time `clock` of adv_clock_ns(), which is about now. */
uint64_t adv_port_now(struct adv_link *link, uint64_t clock);

/* As adv_port_clock_stood(). */
bool adv_port_clock_has_stood(struct adv_link *link, uint64_t clock, uint64_t *behind);

/* Replaces the inner link by another one without a bell. The old one belongs to the caller. */
void adv_port_set_inner(struct adv_link *link, struct adv_link *inner);

/* In a child of fork(): closes the child's descriptors, except the bell. As adv_udp_abandon(). */
void adv_port_abandon(struct adv_link *link);

#endif
