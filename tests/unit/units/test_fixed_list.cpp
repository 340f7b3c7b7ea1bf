// Lists of fixed capacity: an item beyond it is refused in every build, not dropped and not written past the end.
#include "catch.hpp"

#include <fabricost/fixed_list.hpp>

using fabricost::core::FixedList;

TEST_CASE("a fixed list refuses what it cannot hold, and keeps what it has") {
  FixedList<int, 3> list;
  for (int i = 0; i < 3; ++i) list.add(i);
  CHECK_THROWS_AS(list.add(3), std::length_error);
  CHECK_THROWS_AS(list.emplace(3), std::length_error);
  REQUIRE(list.size() == 3);
  CHECK((list[0] == 0 && list[1] == 1 && list[2] == 2));
  list.keep_if([](int one) { return one != 1; });
  list.add(7);
  CHECK((list.size() == 3 && list[1] == 2 && list[2] == 7));
}
