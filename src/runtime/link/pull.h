/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the memory of another process, by process_vm_readv(2). The kernel permits it for processes
 * of one user. On Linux with Yama's ptrace_scope 1, the other process must permit it, too.
 *
 * A process id may name another process later. So each process has a page with a random token. The
 * token is read together with the data, by the same system call. If it is wrong, the data is from
 * another process and is not used.
 */
#ifndef ADV_RUNTIME_LINK_PULL_H
#define ADV_RUNTIME_LINK_PULL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define ADV_PULL_TOKEN 2 /* 64-bit numbers */

/* Where the token of a process is, and the token, in memory that the process shares with a peer. */
struct adv_pull_sign {
	_Atomic uint64_t address; /* 0: the process cannot be read; written last */
	_Atomic uint64_t token[ADV_PULL_TOKEN];
};

/* The page with the token of this process. A child of fork() has no token in its copy. */
struct adv_pull_page {
	uint64_t *token; /* NULL: none */
};

/* Makes the page. If that fails, other processes will not read this one. */
void adv_pull_page_make(struct adv_pull_page *page);
void adv_pull_page_free(struct adv_pull_page *page);
/* Shows the token to the process that shares the sign. */
void adv_pull_page_show(const struct adv_pull_page *page, struct adv_pull_sign *sign);

/* A process whose memory this process may read. */
struct adv_pull_peer {
	pid_t pid;
	uint64_t address;
	uint64_t token[ADV_PULL_TOKEN];
};

/* A range of the peer's memory. */
struct adv_pull_piece {
	uint64_t address;
	uint64_t length;
};

#define ADV_PULL_PIECES 4  /* most pieces of a call */
#define ADV_PULL_TO	40 /* most ranges of own memory of a call */

/* Permits the process to read this one, where Yama demands it. Yama has one such process: later
 * calls change nothing. */
void adv_pull_permit(pid_t pid);

/* Fills in *peer. Returns false if the sign has no address yet, or the process cannot be read, or
 * is another one. */
bool adv_pull_meet(struct adv_pull_peer *peer, pid_t pid, const struct adv_pull_sign *sign);

/*
 * Copies the pieces to the ranges of own memory; the sums of their lengths are equal. Returns false
 * if a byte could not be copied or the process is not the peer: the contents of to[] are undefined
 * then. Blocks while the kernel brings in pages of either process.
 */
bool adv_pull_read(const struct adv_pull_peer *peer, const struct adv_pull_piece *from,
		   unsigned pieces, const struct iovec *to, unsigned count);

#endif
