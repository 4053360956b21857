/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * nfs_client [-n calls] [-s seed] address port
 *
 * An NFS client over RDMA: calls nfs_server.py through the gateway. First it makes a call of each
 * kind: inline, with read chunks, write chunks, a reply chunk, a chunk at position zero, and wrong
 * ones, which the gateway has to refuse. Then it writes and reads at random, and compares all data
 * with its own copy of the file. Exit status: 0 on success; 1 if something was wrong or hung.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "requester.h"
#include "base/bytes.h"

enum {
	RESULTS = 24,			 /* offset of the results in a reply without a verifier */
	READ_HEAD = RESULTS + 5 * 4,	 /* offset of the data in the reply to a READ */
	WRITE_HEAD = 40 + 8 + 8 + 8 + 4, /* offset of the data in a WRITE of the file */
	INLINE_DATA = 800,
	MOST = 1 << 20, /* bytes of a READ or WRITE */
};

static struct requester r;
static struct request q;
static struct reply p;
static uint8_t copy[REQUESTER_FILE]; /* of the server's file */
static uint64_t dice = 1;
static const char *now = "connecting"; /* what is being tested */

static void wrong(const char *what)
{
	fprintf(stderr, "%s: %s\n", now, what);
	exit(1);
}

static uint32_t roll(uint32_t below)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(dice >> 33) % below;
}

/* Sends the call and checks that the reply is a success, of this procedure of the transport. */
static void call(enum adv_rpcrdma_procedure how)
{
	if (!request_send(&r, &q) || !reply_await(&r, &p))
		wrong("the connection has ended");
	if (p.header.procedure != how)
		wrong(p.header.procedure == ADV_RPCRDMA_ERROR ? "refused" : "another procedure");
	if (p.header.xid != q.header.xid || p.header.credits == 0)
		wrong("xid or credits");
	if (how == ADV_RPCRDMA_MSG &&
	    (p.length < RESULTS || adv_get_be32(p.message) != q.header.xid ||
	     adv_get_be32(p.message + 4) != 1 || adv_get_be32(p.message + RESULTS - 4) != 0))
		wrong("the call failed");
}

/* Sends a call that the gateway has to refuse. */
static void call_refused(enum adv_rpcrdma_error error)
{
	if (!request_send(&r, &q) || !reply_await(&r, &p))
		wrong("the connection has ended");
	if (p.header.procedure != ADV_RPCRDMA_ERROR || p.header.error != error ||
	    p.header.xid != q.header.xid)
		wrong("not refused");
}

/* --- WRITE --- */

static void start_write(uint32_t offset, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		copy[offset + i] = (uint8_t)roll(256);
	request_start(&r, &q, NFS3_WRITE);
	request_handle(&q, "file");
	request_word(&q, 0);
	request_word(&q, offset);
	request_word(&q, length);
	request_word(&q, 2); /* FILE_SYNC */
}

/* How data moves. */
enum way { INLINE, CHUNK, LONG, LONG_AND_CHUNK };

static void write_file(enum way way, uint32_t offset, uint32_t length, unsigned segments)
{
	start_write(offset, length);
	if (way == CHUNK || way == LONG_AND_CHUNK) {
		request_word(&q, length);
		request_read_chunk(&r, &q, (uint32_t)q.length, copy + offset, length, segments);
	} else {
		request_opaque(&q, copy + offset, length);
	}
	if (way == LONG || way == LONG_AND_CHUNK)
		request_make_long(&r, &q, segments);
	call(ADV_RPCRDMA_MSG);
	if (adv_get_be32(p.message + RESULTS) != 0 ||
	    adv_get_be32(p.message + RESULTS + 12) != length)
		wrong("a WRITE was not carried out");
}

/* --- READ --- */

static void start_read(uint32_t offset, uint32_t length)
{
	request_start(&r, &q, NFS3_READ);
	request_handle(&q, "file");
	request_word(&q, 0);
	request_word(&q, offset);
	request_word(&q, length);
}

/* Checks the reply to a READ, which is at `head`, and whose data is at `data`. */
static void check_read(const uint8_t *head, const uint8_t *data, uint32_t offset, uint32_t length)
{
	if (adv_get_be32(head + RESULTS) != 0 || adv_get_be32(head + RESULTS + 8) != length ||
	    adv_get_be32(head + RESULTS + 16) != length)
		wrong("the results of a READ");
	if (memcmp(data, copy + offset, length) != 0)
		wrong("the data of a READ");
}

static void read_file(enum way way, uint32_t offset, uint32_t length, unsigned segments)
{
	uint32_t room = length + roll(64), whole = READ_HEAD + ((length + 3) & ~3u);
	uint8_t *data = NULL, *reply = NULL;

	start_read(offset, length);
	if (way == CHUNK || way == LONG_AND_CHUNK)
		data = request_write_chunk(&r, &q, room, segments);
	if (way == LONG || way == LONG_AND_CHUNK)
		reply = request_reply_chunk(&r, &q, room + READ_HEAD + 4, segments);
	if (way == LONG) {
		call(ADV_RPCRDMA_NOMSG);
		if (reply_chunk_length(&p, &p.header.reply) != whole)
			wrong("the length of the reply chunk");
		check_read(reply, reply + READ_HEAD, offset, length);
		return;
	}
	call(ADV_RPCRDMA_MSG);
	if (way == INLINE) {
		check_read(p.message, p.message + READ_HEAD, offset, length);
		return;
	}
	if (p.header.write_count != 1 || reply_chunk_length(&p, &p.header.writes[0]) != length ||
	    p.length != READ_HEAD)
		wrong("the length of the write chunk");
	if (reply && (!p.header.has_reply || reply_chunk_length(&p, &p.header.reply) != 0))
		wrong("a reply chunk that was not needed was used");
	check_read(p.message, data, offset, length);
}

/* --- a call of each kind --- */

static void small_calls(void)
{
	now = "NULL";
	request_start(&r, &q, NFS3_NULL);
	call(ADV_RPCRDMA_MSG);
	now = "GETATTR";
	request_start(&r, &q, NFS3_GETATTR);
	request_handle(&q, "file");
	call(ADV_RPCRDMA_MSG);
	if (p.length != RESULTS + 4 + 84)
		wrong("the length of the results");
	now = "a call whose connection to the server is lost";
	request_start(&r, &q, NFS3_LOSE);
	call(ADV_RPCRDMA_MSG);
}

/* A call that is sent twice gets one reply. The server replies when it has another call. */
static void repeated(void)
{
	uint32_t xid;

	now = "a repeated call";
	request_start(&r, &q, NFS3_LATER);
	xid = q.header.xid;
	if (!request_send(&r, &q) || !request_send(&r, &q))
		wrong("the connection has ended");
	request_start(&r, &q, NFS3_NULL);
	if (!request_send(&r, &q) || !reply_await(&r, &p))
		wrong("the connection has ended");
	if (p.header.xid != xid || p.length != RESULTS)
		wrong("another reply");
	if (!reply_await(&r, &p) || p.header.xid != q.header.xid)
		wrong("a second reply");
}

static void links(void)
{
	uint8_t *text;

	now = "READLINK inline";
	request_start(&r, &q, NFS3_READLINK);
	request_handle(&q, "link100");
	call(ADV_RPCRDMA_MSG);
	if (p.length != RESULTS + 12 + 100 || p.message[p.length - 1] != 'p')
		wrong("the text");
	now = "READLINK with a write chunk";
	request_start(&r, &q, NFS3_READLINK);
	request_handle(&q, "link1021");
	text = request_write_chunk(&r, &q, 4096, 3);
	call(ADV_RPCRDMA_MSG);
	if (reply_chunk_length(&p, &p.header.writes[0]) != 1021 || text[1020] != 'p' ||
	    text[1021] == 'p')
		wrong("the text");
	now = "a write chunk without segments";
	request_start(&r, &q, NFS3_READLINK);
	request_handle(&q, "link100");
	request_write_chunk(&r, &q, 0, 0);
	call(ADV_RPCRDMA_MSG);
	if (p.length != RESULTS + 12 + 100)
		wrong("the text");
}

static void data_of_each_kind(void)
{
	static const uint32_t sizes[] = {0, 1, 3, 4, 777, 4096, 65537, MOST};
	unsigned count = sizeof(sizes) / sizeof(sizes[0]);

	for (unsigned i = 0; i < count; i++) {
		unsigned segments = sizes[i] >= 8 ? 1 + i : 1;

		now = "read and write chunks";
		write_file(CHUNK, i * 8192, sizes[i], segments);
		read_file(CHUNK, i * 8192, sizes[i], segments);
		now = "long calls with chunks, and a reply chunk that is not needed";
		write_file(LONG_AND_CHUNK, i * 8192, sizes[i], segments);
		read_file(LONG_AND_CHUNK, i * 8192, sizes[i], segments);
	}
	now = "inline data";
	write_file(INLINE, 5, INLINE_DATA, 1);
	read_file(INLINE, 5, INLINE_DATA, 1);
	now = "long calls and long replies";
	write_file(LONG, 6, 3001, 7);
	read_file(LONG, 0, MOST, 60);
}

/* --- calls that are refused --- */

static void wrong_headers(void)
{
	now = "another version";
	request_start(&r, &q, NFS3_NULL);
	q.header.version = 2;
	call_refused(ADV_RPCRDMA_ERR_VERS);
	if (p.header.version_low != 1 || p.header.version_high != 1)
		wrong("the versions");
	now = "an unknown procedure";
	request_start(&r, &q, NFS3_NULL);
	q.header.procedure = 17;
	call_refused(ADV_RPCRDMA_ERR_CHUNK);
	now = "a call without a message";
	request_start(&r, &q, NFS3_NULL);
	q.header.procedure = ADV_RPCRDMA_NOMSG;
	call_refused(ADV_RPCRDMA_ERR_CHUNK);
	now = "another XID in the message";
	request_start(&r, &q, NFS3_NULL);
	q.header.xid++;
	call_refused(ADV_RPCRDMA_ERR_CHUNK);
}

static void wrong_chunks(void)
{
	static const uint8_t data[64];

	now = "a chunk at an odd position";
	start_write(0, 0);
	request_read_chunk(&r, &q, WRITE_HEAD + 1, data, 64, 1);
	call_refused(ADV_RPCRDMA_ERR_CHUNK);
	now = "a chunk behind the end";
	start_write(0, 0);
	request_read_chunk(&r, &q, 4000, data, 64, 1);
	call_refused(ADV_RPCRDMA_ERR_CHUNK);
	now = "chunks that are longer than a message may be";
	start_write(0, 0);
	request_read_chunk(&r, &q, WRITE_HEAD, data, 64, 4);
	for (int i = 0; i < 4; i++)
		q.header.reads[i].segment.length = UINT32_MAX - 3;
	call_refused(ADV_RPCRDMA_ERR_CHUNK);
	now = "a write chunk that is too small";
	start_read(0, 5000);
	request_write_chunk(&r, &q, 4999, 2);
	call_refused(ADV_RPCRDMA_ERR_CHUNK);
	now = "a reply chunk that is too small";
	start_read(0, 5000);
	request_reply_chunk(&r, &q, 5000, 2);
	call_refused(ADV_RPCRDMA_ERR_CHUNK);
	now = "a long reply without a chunk";
	start_read(0, 5000);
	call_refused(ADV_RPCRDMA_ERR_CHUNK);
}

/* Reads to a write chunk of so many segments, the first with `key`. */
static void read_with_key(uint32_t key, unsigned segments)
{
	start_read(9, 5000);
	request_write_chunk(&r, &q, 5000, segments);
	q.header.segments[0].handle = key;
	call(ADV_RPCRDMA_MSG);
}

/* A client that supports remote invalidation: a reply invalidates the key of its call, if the call
 * has only one. */
static void invalidation(const char *host, const char *port)
{
	uint32_t key;

	now = "remote invalidation";
	requester_close(&r);
	if (!requester_connect_invalidating(&r, host, port))
		wrong("refused");
	key = requester_bind(&r);
	read_with_key(key, 1);
	if (r.invalidated != key)
		wrong("the key was not invalidated");
	read_with_key(requester_bind(&r), 2);
	if (r.invalidated)
		wrong("one of two keys was invalidated");
}

static void at_random(void)
{
	enum way way = (enum way)roll(4);
	uint32_t length = roll(4) ? roll(40000) : roll(MOST), offset;
	unsigned segments = 1 + roll(12);

	if (way == INLINE)
		length = roll(INLINE_DATA);
	offset = roll(REQUESTER_FILE - length);
	if (roll(2))
		read_file(way == LONG && length < 4096 ? CHUNK : way, offset, length, segments);
	else
		write_file(way == LONG ? INLINE : way, offset, way == LONG ? length % 800 : length,
			   segments);
}

int main(int argc, char **argv)
{
	unsigned long calls = 200;
	int c;

	while ((c = getopt(argc, argv, "n:s:")) != -1) {
		if (c == 'n')
			calls = strtoul(optarg, NULL, 0);
		else if (c == 's')
			dice = strtoul(optarg, NULL, 0);
		else
			return 2;
	}
	if (argc - optind != 2)
		return 2;
	if (!requester_connect(&r, argv[optind], argv[optind + 1], REQUESTER_RECEIVES))
		wrong("refused");
	small_calls();
	repeated();
	links();
	wrong_headers();
	wrong_chunks();
	/* The file has other contents if an earlier client wrote to it. */
	for (uint32_t at = 0; at < REQUESTER_FILE; at += MOST)
		write_file(CHUNK, at, MOST, 1);
	data_of_each_kind();
	now = "calls at random";
	for (unsigned long i = 0; i < calls; i++)
		at_random();
	calls = r.xid;
	invalidation(argv[optind], argv[optind + 1]);
	requester_close(&r);
	printf("ok: %lu calls\n", calls);
	return 0;
}
