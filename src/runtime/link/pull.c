/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/link/pull.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>

#include "base/sys.h"

#define TOKEN_LEN (ADV_PULL_TOKEN * sizeof(uint64_t))
#define PAGE	  4096

/* ---- the own token ---- */

void adv_pull_page_make(struct adv_pull_page *page)
{
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	page->token = NULL;
	if (p == MAP_FAILED)
		return;
	/* A process id that is used again may name a child of this process. */
	if (madvise(p, PAGE, MADV_WIPEONFORK) == 0 && getrandom(p, TOKEN_LEN, 0) == TOKEN_LEN)
		page->token = p;
	else
		munmap(p, PAGE);
}

void adv_pull_page_free(struct adv_pull_page *page)
{
	if (page->token)
		munmap(page->token, PAGE);
	page->token = NULL;
}

void adv_pull_page_show(const struct adv_pull_page *page, struct adv_pull_sign *sign)
{
	if (!page->token)
		return;
	for (unsigned i = 0; i < ADV_PULL_TOKEN; i++)
		atomic_store_explicit(&sign->token[i], page->token[i], memory_order_relaxed);
	atomic_store_explicit(&sign->address, (uintptr_t)page->token, memory_order_release);
}

void adv_pull_permit(pid_t pid)
{
	static atomic_flag permitted = ATOMIC_FLAG_INIT;

	/* Without Yama the call fails, and is not needed. */
	if (!atomic_flag_test_and_set(&permitted))
		(void)prctl(PR_SET_PTRACER, (unsigned long)pid, 0, 0, 0);
}

/* ---- the memory of the peer ---- */

static size_t sum_of(const struct iovec *iov, unsigned count)
{
	size_t sum = 0;

	for (unsigned i = 0; i < count; i++)
		sum += iov[i].iov_len;
	return sum;
}

bool adv_pull_read(const struct adv_pull_peer *peer, const struct adv_pull_piece *from,
		   unsigned pieces, const struct iovec *to, unsigned count)
{
	struct iovec remote[ADV_PULL_PIECES + 1], local[ADV_PULL_TO + 1];
	uint64_t token[ADV_PULL_TOKEN] = {0};
	size_t whole = sum_of(to, count) + TOKEN_LEN;

	if (pieces > ADV_PULL_PIECES || count > ADV_PULL_TO)
		return false;
	for (unsigned i = 0; i < pieces; i++) {
		remote[i].iov_base = (void *)(uintptr_t)from[i].address;
		remote[i].iov_len = from[i].length;
	}
	remote[pieces].iov_base = (void *)(uintptr_t)peer->address;
	remote[pieces].iov_len = TOKEN_LEN;
	for (unsigned i = 0; i < count; i++)
		local[i] = to[i];
	local[count].iov_base = token;
	local[count].iov_len = TOKEN_LEN;
	if (sum_of(remote, pieces + 1) != whole)
		return false;
	return syscall(SYS_process_vm_readv, (long)peer->pid, local, (long)count + 1, remote,
		       (long)pieces + 1, 0L) == (long)whole &&
	       memcmp(token, peer->token, TOKEN_LEN) == 0;
}

bool adv_pull_meet(struct adv_pull_peer *peer, pid_t pid, const struct adv_pull_sign *sign)
{
	struct adv_pull_peer met = {.pid = pid};

	met.address = atomic_load_explicit(&sign->address, memory_order_acquire);
	for (unsigned i = 0; i < ADV_PULL_TOKEN; i++)
		met.token[i] = atomic_load_explicit(&sign->token[i], memory_order_relaxed);
	if (pid <= 0 || !met.address || !adv_pull_read(&met, NULL, 0, NULL, 0))
		return false;
	*peer = met;
	return true;
}
