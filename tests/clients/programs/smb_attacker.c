/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * smb_attacker ACT address port
 *
 * A hostile SMB Direct client. Exit status: 0 if the gateway did as it should, by disconnecting
 * this client or by answering; 1 if not, or if that took too long.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "storage/smb2/requests.h"
#include "smb_peer.h"

enum {
	MANY = 1000, /* more requests than may wait for responses */
	LARGE = 15 << 16,
	GARBAGE_MESSAGES = 300,
	SWARM = 5,
	CREDITS = 128, /* that the gateway grants */
	FILLERS = 5,   /* messages of 1 MiB, more than TCP takes if the server does not read */
	TINY = 100000, /* messages of a byte */
	STUCK_MS = 2000,
	PARTS = ADV_SMB2_DESCRIPTORS_MAX,
	DRIP_MESSAGES = 60,
};

static struct smb_peer p;
static uint8_t m[PEER_MESSAGE];
static const char *host, *port;

static void wrong(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

static void connect_now(void)
{
	if (!peer_connect(&p, host, port, NULL))
		wrong("refused");
}

static void expect_end(void)
{
	peer_await_end(&p);
	peer_close(&p);
}

/* --- SMB Direct --- */

static void raw_transfer(struct adv_smbd_transfer t, uint32_t length)
{
	uint8_t out[PEER_SIZE] = {0};
	uint8_t head[ADV_SMBD_DATA_OFFSET];

	adv_smbd_transfer_encode(&t, head);
	memcpy(out, head, ADV_SMBD_EMPTY_LEN);
	p.core.granted += t.credits_granted;
	if (!peer_send_raw(&p, out, length))
		wrong("the connection has ended too early");
}

/* Wrong data transfer messages: each ends its connection. */
static void transfers(void)
{
	static const struct {
		struct adv_smbd_transfer t;
		uint32_t length;
	} all[] = {
		{{1, 9, 0, 0, 24, 100}, 19},	       /* shorter than the header */
		{{1, 9, 0, 0, 24, 100}, 123},	       /* the data ends behind the message */
		{{1, 9, 0, 0, 24, 0xffffffff}, 200},   /* likewise */
		{{1, 9, 0, 0, 0xfffffff8, 100}, 200},  /* the data begins behind it */
		{{1, 9, 0, 0, 28, 100}, 200},	       /* not aligned */
		{{1, 9, 0, 0, 16, 100}, 200},	       /* in the header */
		{{0, 9, 0, 0, 24, 100}, 200},	       /* requests no credit */
		{{1, 9, 0, 5, 0, 0}, 20},	       /* a fragment without data */
		{{1, 9, 0, 0xffffffff, 24, 100}, 200}, /* too long */
		{{1, 9, 0, 2 << 20, 24, 100}, 200},    /* likewise */
	};

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		connect_now();
		raw_transfer(all[i].t, all[i].length);
		expect_end();
	}
	connect_now();
	raw_transfer((struct adv_smbd_transfer){1, 9, 0, 1000, 24, 100}, 124);
	raw_transfer((struct adv_smbd_transfer){1, 9, 0, 1000, 24, 100}, 124);
	expect_end();
}

static void negotiate_raw(const struct adv_smbd_request *r, uint32_t length)
{
	uint8_t out[ADV_SMBD_REQUEST_LEN];

	if (!peer_connect_only(&p, host, port, NULL))
		wrong("refused");
	adv_smbd_request_encode(r, out);
	peer_send_raw(&p, out, length);
	expect_end();
}

static void negotiations(void)
{
	const struct adv_smbd_request good = {256, 256, 10, 1364, 1364, 1 << 20};
	struct adv_smbd_request r = good;

	negotiate_raw(&r, 0);
	negotiate_raw(&r, 19);
	r.credits_requested = 0;
	negotiate_raw(&r, 20);
	r = good;
	r.receive_size = 127;
	negotiate_raw(&r, 20);
	r = good;
	r.fragmented_size = 131071;
	negotiate_raw(&r, 20);
}

/* More messages than credits. */
static void credits(void)
{
	connect_now();
	for (unsigned i = 0; i < 4 * CREDITS; i++) {
		uint8_t empty[ADV_SMBD_DATA_OFFSET];

		adv_smbd_transfer_encode(&(struct adv_smbd_transfer){.credits_requested = 255},
					 empty);
		if (!peer_send_raw(&p, empty, ADV_SMBD_EMPTY_LEN))
			break;
	}
	expect_end();
}

/* Fragments that never end, until the gateway's patience does. */
static void endless(void)
{
	connect_now();
	raw_transfer((struct adv_smbd_transfer){255, 9, 0, PEER_MESSAGE - 8192, 24, 100}, 124);
	puts("waiting");
	fflush(stdout);
	expect_end();
}

/* It grants no credits, and so takes no responses. */
static void deaf(void)
{
	struct adv_smbd_config config = peer_config();

	config.receive_credits = 1;
	if (!peer_connect(&p, host, port, &config))
		wrong("refused");
	p.core.held = 1; /* the receive is never granted */
	for (int i = 0; i < 8; i++) {
		size_t length = smb_io(&p, m, ADV_SMB2_READ, 0, LARGE);

		if (!peer_send(&p, m, length))
			break;
	}
	puts("waiting");
	fflush(stdout);
	expect_end();
}

/* It grants a credit now and then, and so takes responses slowly. */
static void drip(void)
{
	static const struct timespec pause = {.tv_nsec = 500000000};
	struct adv_smbd_config config = peer_config();

	config.receive_credits = 1;
	if (!peer_connect(&p, host, port, &config))
		wrong("refused");
	p.core.held = 1; /* the receive is never granted but by the loop below */
	smb_header(&p, m, SMB_ECHO);
	for (unsigned i = 0; i < DRIP_MESSAGES; i++) {
		if (!peer_send(&p, m, 100))
			wrong("the connection has ended too early");
	}
	for (unsigned i = 0; i < DRIP_MESSAGES; i++) {
		nanosleep(&pause, NULL);
		raw_transfer(
			(struct adv_smbd_transfer){.credits_requested = 255, .credits_granted = 1},
			ADV_SMBD_EMPTY_LEN);
		if (!peer_await(&p)) {
			peer_close(&p);
			return;
		}
	}
	wrong("a client may take responses as slowly as it likes");
}

/* It does not negotiate. */
static void mute(void)
{
	if (!peer_connect_only(&p, host, port, NULL))
		wrong("refused");
	expect_end();
}

/* It sends nothing, not even when it has to respond. */
static void silent(void)
{
	struct timespec forever = {.tv_sec = 3};

	connect_now();
	smb_header(&p, m, SMB_ECHO);
	if (!peer_send(&p, m, 100) || !peer_await(&p))
		wrong("no echo");
	puts("waiting");
	fflush(stdout);
	nanosleep(&forever, NULL);
	expect_end();
}

/* --- SMB2 --- */

/* Memory that is not the client's. */
static void keys(void)
{
	for (unsigned i = 0; i < 4; i++) {
		uint16_t command = i & 1 ? ADV_SMB2_READ : ADV_SMB2_WRITE;
		size_t length;

		connect_now();
		length = smb_rdma_io(&p, m, command, 0, LARGE, 0, 1);
		if (i & 2)
			adv_put_le64(m + 112, (uintptr_t)p.memory + PEER_MEMORY - LARGE + 1);
		else
			adv_put_le32(m + 120, p.mr->rkey + 0x100);
		if (peer_send(&p, m, length))
			expect_end();
		else
			peer_close(&p);
	}
}

/* Two requests of one message id; the first one has no response yet. */
static void duplicates(void)
{
	size_t length;

	connect_now();
	length = smb_rdma_io(&p, m, ADV_SMB2_READ, 0, 1000, 0, 1);
	memcpy(m + 136, m, length);
	adv_smb2_set_next(m, 136);
	if (peer_send(&p, m, 136 + length))
		expect_end();
	else
		peer_close(&p);
}

/* WRITEs whose data is in many parts of its memory, then messages that show that it is there. It is
 * to run with a fault plan that delays what it answers to RDMA READs. */
static void slow(void)
{
	static const struct timespec pause = {.tv_nsec = 100000000};
	uint8_t empty[ADV_SMBD_DATA_OFFSET];
	size_t length = 0, one = ADV_SMB2_IO_LEN + PARTS * ADV_SMBD_DESCRIPTOR_LEN;

	connect_now();
	for (unsigned i = 0; i < ADV_SMB2_TRANSFERS_MAX; i++) {
		smb_rdma_io(&p, m + length, ADV_SMB2_WRITE, 0, LARGE, 0, PARTS);
		if (i + 1 < ADV_SMB2_TRANSFERS_MAX)
			adv_smb2_set_next(m + length, (uint32_t)one);
		length += one;
	}
	if (!peer_send(&p, m, length))
		wrong("the connection has ended too early");
	adv_smbd_transfer_encode(&(struct adv_smbd_transfer){.credits_requested = 255}, empty);
	for (unsigned i = 0; i < CREDITS / 2; i++) {
		if (!peer_send_raw(&p, empty, ADV_SMBD_EMPTY_LEN))
			break;
		nanosleep(&pause, NULL);
	}
	expect_end();
}

/* Wrong SMB2 messages end the connection, or are answered. */
static void garbage(void)
{
	uint64_t dice = 7;

	for (unsigned i = 0; i < GARBAGE_MESSAGES; i++) {
		size_t length;

		connect_now();
		length = smb_rdma_io(&p, m, i & 1 ? ADV_SMB2_READ : ADV_SMB2_WRITE, 0, 5000, 0,
				     1 + i % 7);
		memcpy(m + length, m, length);
		if (i & 2)
			adv_smb2_set_next(m, (uint32_t)length);
		for (unsigned k = 0; k < 1 + i % 4; k++) {
			dice = dice * 6364136223846793005u + 1442695040888963407u;
			m[(dice >> 33) % length] ^= (uint8_t)(1u << (dice >> 60 & 7));
		}
		if (peer_send(&p, m, 1 + (dice >> 40) % (2 * length)))
			peer_await(&p);
		peer_close(&p);
	}
}

/* Many requests whose responses it does not take. */
static void flood(void)
{
	struct adv_smbd_config config = peer_config();

	config.receive_credits = 1;
	if (!peer_connect(&p, host, port, &config))
		wrong("refused");
	p.core.held = 1;
	for (unsigned i = 0; i < MANY; i++) {
		if (!peer_send(&p, m, smb_rdma_io(&p, m, ADV_SMB2_READ, 0, 100, 0, 1)))
			break;
	}
	expect_end();
}

/* Messages of a byte for a server that does not read, until the gateway takes no more. */
static void tiny(void)
{
	unsigned sent = 0;

	connect_now();
	smb_header(&p, m, SMB_STALL);
	if (!peer_send(&p, m, ADV_SMB2_HEADER_LEN))
		wrong("the connection has ended too early");
	m[0] = 0;
	for (unsigned i = 0; i < FILLERS; i++) {
		if (!peer_send(&p, m, 1 << 20))
			wrong("the connection has ended too early");
	}
	while (sent < TINY && peer_await_credit(&p, STUCK_MS) && peer_send(&p, m, 1))
		sent++;
	printf("%u messages of a byte\n", sent);
	peer_close(&p);
}

/* More connections than the gateway permits. */
static void swarm(void)
{
	static struct smb_peer all[SWARM];
	unsigned connected = 0;

	for (unsigned i = 0; i < SWARM; i++)
		connected += peer_connect(&all[connected], host, port, NULL);
	if (connected != SWARM - 1)
		wrong("another number of connections");
	for (unsigned i = 0; i < connected; i++)
		peer_close(&all[i]);
}

static const struct {
	const char *name;
	void (*act)(void);
} acts[] = {
	{"transfers", transfers}, {"negotiations", negotiations},
	{"credits", credits},	  {"endless", endless},
	{"deaf", deaf},		  {"drip", drip},
	{"mute", mute},		  {"silent", silent},
	{"keys", keys},		  {"duplicates", duplicates},
	{"slow", slow},		  {"garbage", garbage},
	{"flood", flood},	  {"tiny", tiny},
	{"swarm", swarm},
};

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	host = argv[2];
	port = argv[3];
	for (unsigned i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		if (strcmp(argv[1], acts[i].name) == 0) {
			acts[i].act();
			return 0;
		}
	}
	return 2;
}
