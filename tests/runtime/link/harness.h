/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* UDP links, packets to send, and a store of received packets. */
#ifndef ADV_TESTS_RUNTIME_LINK_HARNESS_H
#define ADV_TESTS_RUNTIME_LINK_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/link/udp.h"
#include "nic/wire/icrc.h"

#define STORE_PACKETS 4096
#define PATIENCE_MS   60000 /* a longer wait is a hang */

struct stored {
	struct adv_rx_meta meta;
	uint64_t datagram;
	uint32_t len;
	uint8_t data[ADV_HEADERS_MAX + 4096];
};

struct store {
	unsigned count;
	struct stored packet[STORE_PACKETS];
};

/* Returns the GID of an address. "127.0.0.1" becomes an IPv4-mapped GID. */
struct adv_gid gid_of(const char *address);
/* Opens a link that listens on [address]:4791; "::" is dual-stack. */
struct adv_link *open_link(const char *address);
struct adv_link *open_link_for(const char *address, uint32_t qpn_first, uint32_t qpn_count);
/* Opens a link with a port for packets to this machine: adv_udp_sender(). */
struct adv_link *open_known(const char *address);
/* Opens a link that only sends: it listens on another port, so that 4791 of all addresses is free.
 */
struct adv_link *open_sender(const char *address);
void close_link(struct adv_link *link);

/* Empties and returns the store. There is only one. */
struct store *fresh_store(void);
/* Adds a packet to the store `user`; a callback of receive(). */
void keep_packet(void *user, const struct adv_rx_packet *pkt);
/* Receives into the store until it has `want` packets. Then receives all packets that are still
 * queued. Fails after PATIENCE_MS. */
void receive_all(struct adv_link *link, struct store *store, unsigned want);
/* As receive_all(), but until the UDP link has counted `want` packets, good or bad, since its
 * start. */
void receive_counted(struct adv_link *link, struct store *store, uint64_t want);

void path_between(struct adv_path *path, const char *from, const char *to, uint16_t sport);

/* Appends a SEND ONLY to `qpn` with payload_len bytes of a pattern that depends on psn. */
struct adv_tx_packet *add_packet(struct adv_tx_batch *batch, struct adv_path *path, uint32_t qpn,
				 uint32_t psn, uint32_t payload_len);
/* Asserts that the packet is the one that add_packet() made with these arguments. */
void check_packet(const struct stored *p, uint32_t qpn, uint32_t psn, uint32_t payload_len);

/* Opens a plain socket of [address]:port that does not fragment. */
int plain_socket(const char *address, uint16_t port);
/* Sends bytes to [to]:4791 in segments of segment_len (0: unsegmented). */
void send_plain(int fd, const char *to, const void *p, size_t len, uint16_t segment_len);
/* Writes a SEND ONLY packet with an ICRC for this IPv4 Identification. Returns its length. */
size_t make_packet(uint8_t *out, const char *from, uint16_t sport, const char *to, uint16_t id,
		   uint32_t qpn, uint32_t psn, uint32_t payload_len);

unsigned open_descriptors(void);

#endif
