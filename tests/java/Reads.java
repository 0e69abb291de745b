import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** PostgreSQL's JDBC driver against `fidelake serve --pg`: parameters, fetch sizes, metadata, refusals. */
public class Reads {
    public static void main(String[] arguments) throws SQLException {
        long calls = Long.parseLong(arguments[1]);
        try (Connection connection = DriverManager.getConnection(arguments[0])) {
            try (PreparedStatement statement = connection.prepareStatement(
                    "SELECT name, turn FROM calls WHERE turn >= ? AND name <> ?")) {
                // The driver asks for a plan on the server after some executions.
                for (int time = 0; time < 8; time++) {
                    statement.setInt(1, 0);
                    statement.setString(2, "nothing");
                    check(count(statement.executeQuery()) == calls, "rows with parameters");
                }
            }
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                statement.setFetchSize(10);
                check(count(statement.executeQuery("SELECT * FROM calls")) == calls, "rows by tens");
            }
            connection.commit();
            connection.setAutoCommit(true);
            DatabaseMetaData data = connection.getMetaData();
            try (ResultSet tables = data.getTables(null, "public", "calls", null)) {
                check(tables.next(), "the table in the metadata");
            }
            try (ResultSet columns = data.getColumns(null, "public", "calls", "environment")) {
                check(columns.next(), "the column in the metadata");
            }
            try (Statement statement = connection.createStatement()) {
                statement.executeUpdate("DELETE FROM calls");
                throw new AssertionError("not refused");
            } catch (SQLException error) {
                check("25006".equals(error.getSQLState()), "read-only, not " + error.getSQLState());
            }
        }
    }

    private static long count(ResultSet rows) throws SQLException {
        long count = 0;
        while (rows.next()) {
            count++;
        }
        return count;
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }
}
