/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of two slots: it is made when both slots have requested it, each slot gets it once, and it
 * ends when either slot is released. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/steering/pairs.h"

static int begin(void **state)
{
	*state = adv_pairs_create(ADV_PAIRS_MAX, false);
	return *state ? 0 : -1;
}

static int end(void **state)
{
	adv_pairs_destroy(*state);
	return 0;
}

static uint64_t inode(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

static bool has_bit(const uint8_t *bits, unsigned i)
{
	return bits[i / 8] >> i % 8 & 1;
}

static bool is_paired(const struct adv_pairs *p, unsigned slot, unsigned peer)
{
	uint8_t paired[ADV_SLOTS / 8], ready[ADV_SLOTS / 8];

	adv_pairs_list(p, slot, paired, ready);
	return has_bit(paired, peer);
}

static void test_both_ask(void **state)
{
	struct adv_pair_share a, b;

	assert_int_equal(adv_pairs_request(*state, 7, 3, &a), EAGAIN);
	assert_int_equal(adv_pairs_request(*state, 7, 3, &a), EAGAIN);
	assert_false(is_paired(*state, 3, 7));
	assert_int_equal(adv_pairs_request(*state, 3, 7, &b), 0);
	assert_true(b.made);
	assert_true(is_paired(*state, 3, 7) && is_paired(*state, 7, 3));
	assert_int_equal(adv_pairs_request(*state, 3, 7, &b), EALREADY);
	assert_int_equal(adv_pairs_request(*state, 7, 3, &a), 0);
	assert_false(a.made);
	assert_int_equal(adv_pairs_request(*state, 7, 3, &b), EALREADY);
	assert_int_equal(adv_pairs_count(*state), 1);
	assert_int_equal(inode(a.memory_fd), inode(b.memory_fd));
	assert_int_equal(a.size, ADV_PAIR_LARGE);
	assert_int_equal(a.side + b.side, 1);
	assert_true(fcntl(a.memory_fd, F_GET_SEALS) & F_SEAL_SHRINK);
	assert_int_equal(ftruncate(a.memory_fd, 0), -1);
	close(a.memory_fd);
	close(b.memory_fd);
}

static void test_list(void **state)
{
	uint8_t paired[ADV_SLOTS / 8], ready[ADV_SLOTS / 8];
	struct adv_pair_share share;

	adv_pairs_request(*state, 9, 200, &share);
	adv_pairs_request(*state, 9, 4, &share);
	assert_int_equal(adv_pairs_request(*state, 200, 9, &share), 0);
	close(share.memory_fd);
	adv_pairs_list(*state, 9, paired, ready);
	assert_true(has_bit(paired, 200) && has_bit(ready, 200));
	assert_false(has_bit(paired, 4));
	adv_pairs_list(*state, 200, paired, ready);
	assert_true(has_bit(paired, 9));
	assert_false(has_bit(ready, 9));
}

/* A request ends with its slot: the next owner of the number must request it again. */
static void test_release(void **state)
{
	uint8_t paired[ADV_SLOTS / 8];
	struct adv_pair_share share;

	adv_pairs_request(*state, 1, 2, &share);
	adv_pairs_request(*state, 1, 3, &share);
	assert_int_equal(adv_pairs_request(*state, 2, 1, &share), 0);
	close(share.memory_fd);
	adv_pairs_release(*state, 1, paired);
	assert_true(has_bit(paired, 2));
	assert_false(has_bit(paired, 3));
	assert_int_equal(adv_pairs_count(*state), 0);
	assert_int_equal(adv_pairs_request(*state, 3, 1, &share), EAGAIN);
	assert_int_equal(adv_pairs_request(*state, 2, 1, &share), EAGAIN);
}

/* A slot with many peers gets less memory for each pair, and the number of pairs is limited. */
static void test_sizes_and_bound(void **state)
{
	uint32_t last = ADV_PAIR_LARGE;
	struct adv_pair_share share;
	unsigned made = 0;
	int err = 0;

	for (unsigned i = 3900; i < ADV_SLOTS && !err; i++)
		for (unsigned j = i + 1; j < ADV_SLOTS && !err; j++) {
			assert_int_equal(adv_pairs_request(*state, i, j, &share), EAGAIN);
			err = adv_pairs_request(*state, j, i, &share);
			if (err)
				break;
			close(share.memory_fd);
			/* both slots have fetched it, so that no descriptor is kept */
			assert_int_equal(adv_pairs_request(*state, i, j, &share), 0);
			close(share.memory_fd);
			if (i == 3900) {
				assert_true(share.size <= last);
				last = share.size;
			}
			made++;
		}
	assert_int_equal(last, ADV_PAIR_SMALL);
	assert_int_equal(err, ENFILE);
	assert_int_equal(made, ADV_PAIRS_MAX);
}

/* The number of requests is limited too. A refused request is not kept. */
static void test_wishes(void **state)
{
	struct adv_pairs *p = adv_pairs_create(ADV_PAIRS_MAX, true);
	struct adv_pair_use greedy = {0};
	uint8_t paired[ADV_SLOTS / 8];
	struct adv_pair_share share;
	unsigned wanted = 0;
	int err = EAGAIN;

	for (unsigned i = 1; i < 20; i++)
		adv_pairs_charge(p, i, &greedy);
	for (unsigned i = 1; i < 20; i++)
		for (unsigned j = 20; j < ADV_SLOTS && err == EAGAIN; j++) {
			err = adv_pairs_request(p, i, j, &share);
			wanted += err == EAGAIN;
		}
	assert_int_equal(err, ENFILE);
	assert_int_equal(greedy.wanted, wanted);
	assert_true(wanted <= 32768);
	assert_int_equal(adv_pairs_request(p, 100, 101, &share), EAGAIN);
	for (unsigned i = 1; i < 20; i++)
		adv_pairs_release(p, i, paired);
	assert_int_equal(greedy.wanted, 0);
	assert_int_equal(adv_pairs_request(p, 5, 6, &share), EAGAIN);
	adv_pairs_destroy(p);
	assert_int_equal(greedy.wanted, 0);

	p = adv_pairs_create(0, false);
	adv_pairs_charge(p, 1, &greedy);
	assert_int_equal(adv_pairs_request(p, 1, 2, &share), EAGAIN);
	assert_int_equal(adv_pairs_request(p, 2, 1, &share), ENFILE);
	assert_int_equal(greedy.wanted, 0);
	adv_pairs_destroy(p);
}

static int both_ask(struct adv_pairs *p, unsigned a, unsigned b, struct adv_pair_share *share)
{
	assert_int_equal(adv_pairs_request(p, a, b, share), EAGAIN);
	return adv_pairs_request(p, b, a, share);
}

/* Slots 1 to 100 belong to one user. One user gets at most half of the pairs; the rest is for other
 * users. */
static void test_users(void **state)
{
	struct adv_pairs *p = adv_pairs_create(ADV_PAIRS_MAX, true);
	struct adv_pair_use greedy = {0}, other = {0};
	uint8_t paired[ADV_SLOTS / 8];
	struct adv_pair_share share;
	int err = 0;

	for (unsigned i = 1; i <= 200; i++)
		adv_pairs_charge(p, i, i <= 100 ? &greedy : &other);
	for (unsigned i = 1; i < 100 && !err; i++)
		for (unsigned j = i + 1; j <= 100 && !err; j++) {
			err = both_ask(p, i, j, &share);
			if (!err)
				close(share.memory_fd);
		}
	assert_int_equal(err, ENFILE);
	assert_int_equal(greedy.made, ADV_PAIRS_MAX / 2);
	assert_int_equal(greedy.kept, ADV_PAIRS_MAX / 2);
	assert_int_equal(both_ask(p, 100, 101, &share), ENFILE);
	assert_int_equal(both_ask(p, 101, 102, &share), 0);
	close(share.memory_fd);
	assert_int_equal(other.made, 1);
	adv_pairs_release(p, 1, paired);
	assert_int_equal(greedy.made, ADV_PAIRS_MAX / 2 - 99);
	/* A pair of two users counts for both users. A refused request is made again. */
	assert_int_equal(both_ask(p, 100, 101, &share), 0);
	close(share.memory_fd);
	assert_int_equal(greedy.made, ADV_PAIRS_MAX / 2 - 98);
	assert_int_equal(other.made, 2);
	adv_pairs_destroy(p);
	assert_int_equal(greedy.made + greedy.kept + other.made + other.kept, 0);
}

/* A descriptor is kept until the second side has fetched it. */
static void test_kept(void **state)
{
	struct adv_pairs *p = adv_pairs_create(4, true);
	struct adv_pair_use user = {0};
	struct adv_pair_share share;

	adv_pairs_charge(p, 1, &user);
	for (unsigned peer = 2; peer < 4; peer++) {
		assert_int_equal(both_ask(p, 1, peer, &share), 0);
		close(share.memory_fd);
	}
	assert_int_equal(both_ask(p, 1, 4, &share), ENFILE);
	assert_int_equal(adv_pairs_request(p, 1, 2, &share), 0);
	close(share.memory_fd);
	assert_int_equal(user.kept, 1);
	assert_int_equal(user.made, 2);
	assert_int_equal(both_ask(p, 1, 4, &share), 0);
	close(share.memory_fd);
	for (unsigned slot = 10; slot < 14; slot += 2) {
		assert_int_equal(both_ask(p, slot, slot + 1, &share), 0);
		close(share.memory_fd);
	}
	assert_int_equal(both_ask(p, 20, 21, &share), ENFILE);
	adv_pairs_destroy(p);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_both_ask),	    T(test_list),  T(test_release),
					   T(test_sizes_and_bound), T(test_users), T(test_kept),
					   T(test_wishes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
