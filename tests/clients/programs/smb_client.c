/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * smb_client [-n operations] [-s seed] address port
 *
 * An SMB Direct client: sends messages to smb_server.py through the gateway. First one of each
 * kind: of many lengths, with data in the message and by RDMA, compound, encrypted, and wrong ones,
 * which the server has to refuse. Then it writes and reads at random, and compares all data with
 * its own copy of the file. Exit status: 0 on success; 1 if something was wrong or hung.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "smb_peer.h"

enum { MOST = 15 << 16, /* bytes of an RDMA transfer */ DESCRIPTORS = 7 };

static struct smb_peer p;
static uint8_t m[PEER_MESSAGE];
static uint8_t copy[PEER_FILE]; /* of the server's file */
static uint64_t dice = 1;
static const char *now = "connecting"; /* what is being tested */
static const char *host, *port;

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

static void fill(uint8_t *to, size_t length)
{
	for (size_t i = 0; i < length; i++)
		to[i] = (uint8_t)roll(256);
}

/* Sends a message and waits for the next one. */
static void exchange(size_t length)
{
	if (!peer_send(&p, m, length) || !peer_await(&p))
		wrong("the connection has ended");
}

static void expect_status(size_t at, uint32_t status)
{
	if (smb_status(&p, at) != status) {
		fprintf(stderr, "%s: status %#x\n", now, smb_status(&p, at));
		exit(1);
	}
}

/* --- READ and WRITE --- */

static void write_inline(uint32_t offset, uint32_t length)
{
	size_t head = smb_io(&p, m, ADV_SMB2_WRITE, offset, length);

	fill(m + head, length);
	memcpy(copy + offset, m + head, length);
	exchange(head + length);
	expect_status(0, 0);
}

static void write_rdma(uint32_t offset, uint32_t length, unsigned descriptors)
{
	size_t place = roll(4096);
	size_t head = smb_rdma_io(&p, m, ADV_SMB2_WRITE, offset, length, place, descriptors);

	fill(p.memory + place, length);
	memcpy(copy + offset, p.memory + place, length);
	exchange(head);
	expect_status(0, 0);
}

static void read_inline(uint64_t offset, uint32_t length)
{
	exchange(smb_io(&p, m, ADV_SMB2_READ, offset, length));
	expect_status(0, 0);
	if (p.length != ADV_SMB2_READ_RESPONSE_LEN + length ||
	    memcmp(p.message + ADV_SMB2_READ_RESPONSE_LEN, copy + offset, length) != 0)
		wrong("data");
}

/* Checks the response at `at` to a READ by RDMA, and the data. */
static void check_read(size_t at, uint32_t offset, uint32_t length, size_t place)
{
	expect_status(at, 0);
	if (p.message[at + 66] != ADV_SMB2_READ_RESPONSE_LEN ||
	    adv_get_le32(p.message + at + 68) != 0 || adv_get_le32(p.message + at + 72) != length)
		wrong("offset or lengths of the response");
	if (memcmp(p.memory + place, copy + offset, length) != 0)
		wrong("data");
	if (p.memory[place + length] != 0xa5)
		wrong("it wrote behind the memory");
}

static void read_rdma(uint32_t offset, uint32_t length, unsigned descriptors)
{
	size_t place = roll(4096);
	size_t head = smb_rdma_io(&p, m, ADV_SMB2_READ, offset, length, place, descriptors);

	memset(p.memory + place, 0xa5, length + 1);
	exchange(head);
	if (p.length != ADV_SMB2_READ_RESPONSE_LEN)
		wrong("length of the response");
	check_read(0, offset, length, place);
}

/* --- one of each kind --- */

static void test_lengths(void)
{
	static const size_t some[] = {
		1, 7, 1000, 1340, 1341, 4072, 4073, 8192, 65536, 999999, PEER_MESSAGE - 4096};

	now = "messages of many lengths";
	for (unsigned i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		size_t length = some[i] < 64 ? 64 + some[i] : some[i];

		smb_header(&p, m, SMB_ECHO);
		fill(m + 64, length - 64);
		exchange(length);
		expect_status(0, 0);
		if (p.length != length || memcmp(p.message + 64, m + 64, length - 64) != 0)
			wrong("the echo differs");
	}
	now = "an encrypted message";
	m[0] = 0xfd;
	exchange(1000);
	if (p.length != 1000 || memcmp(p.message, m, 1000) != 0)
		wrong("it was changed");
}

static void test_io(void)
{
	now = "data in the message";
	write_inline(5, 1);
	write_inline(100, 100000);
	read_inline(0, 200000);
	now = "WRITE by RDMA";
	for (unsigned d = 1; d <= DESCRIPTORS; d++)
		write_rdma(d * 1000, 50000 + d, d);
	write_rdma(1 << 20, MOST, 1);
	write_rdma(3, 1, 1);
	read_inline(0, MOST);
	now = "READ by RDMA";
	for (unsigned d = 1; d <= DESCRIPTORS; d++)
		read_rdma(d * 999, 50000 + d, d);
	read_rdma(1 << 20, MOST, 1);
	read_rdma(3, 1, 1);
}

static void test_short_read(void)
{
	size_t head;

	now = "a READ to the end of the file";
	head = smb_rdma_io(&p, m, ADV_SMB2_READ, PEER_FILE - 100, 5000, 0, 1);
	memset(p.memory, 0xa5, 5001);
	exchange(head);
	check_read(0, PEER_FILE - 100, 100, 0);
	now = "a READ behind the end of the file";
	exchange(smb_rdma_io(&p, m, ADV_SMB2_READ, PEER_FILE, 5000, 0, 1));
	expect_status(0, STATUS_END_OF_FILE);
	now = "a READ that is answered later";
	head = smb_rdma_io(&p, m, ADV_SMB2_READ, SMB_LATER | 77, 5000, 0, 1);
	memset(p.memory, 0xa5, 5001);
	exchange(head);
	expect_status(0, ADV_SMB2_STATUS_PENDING);
	if (!peer_await(&p))
		wrong("the connection has ended");
	check_read(0, 77, 5000, 0);
}

/* The server has to refuse the message. */
static void expect_refusal(size_t length)
{
	exchange(length);
	expect_status(0, STATUS_INVALID);
}

static void test_refusals(void)
{
	size_t length;

	now = "a READ of more than the longest transfer";
	expect_refusal(smb_rdma_io(&p, m, ADV_SMB2_READ, 0, MOST + 1, 0, 1));
	now = "a WRITE of more than the longest transfer";
	expect_refusal(smb_rdma_io(&p, m, ADV_SMB2_WRITE, 0, MOST + 1, 0, 1));
	now = "descriptors that are too short";
	length = smb_rdma_io(&p, m, ADV_SMB2_WRITE, 0, 1000, 0, 1);
	adv_put_le32(m + 112 + 12, 999);
	expect_refusal(length);
	now = "no descriptor";
	expect_refusal(smb_rdma_io(&p, m, ADV_SMB2_READ, 0, 1000, 0, 0));
	now = "descriptors outside the message";
	length = smb_rdma_io(&p, m, ADV_SMB2_READ, 0, 1000, 0, 1);
	adv_put_le16(m + 108, 113);
	expect_refusal(length);
	now = "an unknown channel";
	length = smb_rdma_io(&p, m, ADV_SMB2_READ, 0, 1000, 0, 1);
	adv_put_le32(m + 100, 3);
	expect_refusal(length);
	now = "a signed request with a channel";
	length = smb_rdma_io(&p, m, ADV_SMB2_READ, 0, 1000, 0, 1);
	adv_put_le32(m + 16, ADV_SMB2_FLAG_SIGNED);
	expect_refusal(length);
}

static void test_compound(void)
{
	size_t first = smb_rdma_io(&p, m, ADV_SMB2_WRITE, 500, 4001, 8, 1), second, third;

	now = "a compound message";
	fill(p.memory + 8, 4001);
	memcpy(copy + 500, p.memory + 8, 4001);
	memset(p.memory + 8192, 0xa5, 3002);
	adv_smb2_set_next(m, (uint32_t)first);
	second = smb_rdma_io(&p, m + first, ADV_SMB2_READ, 500, 3001, 8192, 2);
	adv_smb2_set_next(m + first, (uint32_t)second);
	third = first + second;
	smb_header(&p, m + third, SMB_ECHO);
	fill(m + third + 64, 40);
	exchange(third + 104);
	expect_status(0, 0);
	check_read(80, 500, 3001, 8192);
	expect_status(160, 0);
	if (p.length != 264 || memcmp(p.message + 224, m + third + 64, 40) != 0)
		wrong("the third response");
}

/* --- remote invalidation --- */

static void await_local(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(p.cq, 1, &wc) == 0)
		;
	if (wc.status != IBV_WC_SUCCESS)
		wrong("the window was not bound");
}

/* A memory window of type 2, which the response has to invalidate. */
static void test_invalidation(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(p.id->pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED}, *bad;
	size_t length;

	now = "remote invalidation";
	if (!mw)
		wrong("no memory window");
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = p.mr,
		.addr = (uintptr_t)p.memory,
		.length = 8192,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};
	if (ibv_post_send(p.id->qp, &wr, &bad) != 0)
		wrong("no bind");
	await_local();
	memset(p.memory, 0xa5, 5001);
	length = smb_rdma_io(&p, m, ADV_SMB2_READ, 9, 5000, 0, 1);
	adv_put_le32(m + 100, ADV_SMB2_CHANNEL_RDMA_V1_INVALIDATE);
	adv_put_le32(m + 112 + 8, wr.bind_mw.rkey);
	exchange(length);
	check_read(0, 9, 5000, 0);
	if (p.invalidated != wr.bind_mw.rkey)
		wrong("the key was not invalidated");
	ibv_dealloc_mw(mw);
}

/* --- others --- */

/* Limits that are as small as a client may have. */
static void test_small(void)
{
	struct adv_smbd_config small = peer_config();

	now = "small limits";
	peer_close(&p);
	small.send_size = 128;
	small.receive_size = 128;
	small.fragmented_size = ADV_SMBD_FRAGMENTED_LEAST;
	small.receive_credits = 2;
	small.send_credits = 2;
	if (!peer_connect(&p, host, port, &small))
		wrong("refused");
	write_inline(0, 5000);
	read_inline(0, 5000);
	write_rdma(0, 50000, 2);
	read_rdma(0, 50000, 2);
}

/* A client that gives no credits while a message is incomplete, nor before it if the gateway has as
 * many as it requests. Linux's client has 255 receives, and the longest message that it receives
 * fills half of them. */
static void test_whole_messages(void)
{
	struct adv_smbd_config linux_config = peer_config();
	uint32_t one = linux_config.receive_size - ADV_SMBD_DATA_OFFSET;

	now = "credits for whole messages";
	peer_close(&p);
	linux_config.receive_credits = 255;
	linux_config.fragmented_size = 255 * linux_config.receive_size / 2;
	if (!peer_connect(&p, host, port, &linux_config))
		wrong("refused");
	p.lazy = true;
	peer_grant_all(&p);
	for (uint32_t sends = 100; (sends + 1) * one < linux_config.fragmented_size; sends++)
		read_inline(roll(1000), sends * one);
}

static void test_lost(void)
{
	now = "a lost connection to the server";
	smb_header(&p, m, SMB_LOSE);
	if (!peer_send(&p, m, 64))
		wrong("the connection has ended");
	peer_await_end(&p);
	peer_close(&p);
	if (!peer_connect(&p, host, port, NULL))
		wrong("refused");
	read_rdma(0, 100, 1);
}

static void test_random(unsigned operations)
{
	now = "random";
	for (unsigned i = 0; i < operations; i++) {
		uint32_t length = 1 + roll(roll(2) ? 5000 : MOST);
		uint32_t offset = roll(PEER_FILE - length);

		switch (roll(5)) {
		case 0:
			write_inline(offset, length);
			break;
		case 1:
			read_inline(offset, length);
			break;
		case 2:
			write_rdma(offset, length, 1 + roll(DESCRIPTORS));
			break;
		default:
			read_rdma(offset, length, 1 + roll(DESCRIPTORS));
			break;
		}
	}
	printf("%u operations at random\n", operations);
}

/* The file as the server has it. */
static void read_all(void)
{
	now = "the beginning";
	for (uint32_t at = 0; at < PEER_FILE; at += 1 << 20) {
		exchange(smb_io(&p, m, ADV_SMB2_READ, at, 1 << 20));
		expect_status(0, 0);
		memcpy(copy + at, p.message + ADV_SMB2_READ_RESPONSE_LEN, 1 << 20);
	}
}

int main(int argc, char **argv)
{
	unsigned operations = 100;
	int c;

	while ((c = getopt(argc, argv, "n:s:")) != -1) {
		if (c == 'n')
			operations = (unsigned)atoi(optarg);
		else if (c == 's')
			dice = (uint64_t)atoi(optarg);
		else
			return 2;
	}
	if (argc - optind != 2)
		return 2;
	host = argv[optind];
	port = argv[optind + 1];
	if (!peer_connect(&p, host, port, NULL))
		wrong("refused");
	read_all();
	test_lengths();
	test_io();
	test_short_read();
	test_refusals();
	test_compound();
	test_invalidation();
	test_small();
	test_whole_messages();
	test_lost();
	test_random(operations);
	peer_close(&p);
	return 0;
}
